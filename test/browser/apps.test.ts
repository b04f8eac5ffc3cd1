import { rmSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { readSettings } from '#agent/settings/settings.ts'
import { createHost } from '#agent/tools/tool-host.ts'
import { microUsd } from '#contract/money.ts'
import { localService } from '../agent/local-service.ts'
import { temporaryFolder } from '../agent/open-agent.ts'
import { consent, policyText, spend } from '../mcp/approval-requests.ts'
import { type Connection, connect } from '../mcp/connect.ts'
import { fakeHost } from '../mcp/fake-host.ts'
import { type Given, isQuiet, showApp } from './app-host.ts'
import { withChromium } from './with-chromium.ts'

/** A host of the extension: frames the view of a tool, and passes its requests to the server. */
withChromium('the views of MCP Apps, in a host', browser => {
  let service: Awaited<ReturnType<typeof localService>>
  let connection: Connection
  const folder = temporaryFolder()
  const closing: (() => unknown)[] = []
  beforeAll(async () => {
    service = await localService()
    const { settings } = readSettings({
      FAREBOX_DATA: folder,
      FAREBOX_BASE_URL: service.baseUrl,
      FAREBOX_WALLET_KEY: service.wallet.privateKey,
      FAREBOX_PAYEE: service.payee,
    })
    const host = await createHost(async () => settings, { file: null, read: async () => null })
    connection = await connect({ host, tools: ['all'] })
  }, 90_000)
  afterAll(async () => {
    await connection?.disconnect()
    await service?.close()
    rmSync(folder, { recursive: true, force: true })
  }, 60_000)
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  const shown = (at: Pick<Connection, 'client'>, given: Given) => showApp(browser(), at, given, closing)

  test.each(['light', 'dark'] as const)(
    'an image is shown whole, with its price: %s',
    async colorScheme => {
      const given = { model: 'demo-image', prompt: `A kite, ${colorScheme}`, width: 640, height: 384 }
      const { page, view, inView, asked, requests, complaints } = await shown(connection, {
        ...{ tool: 'image_create', arguments: given, colorScheme },
      })
      await view.locator('img').waitFor()
      // The file itself, not the small image of the result.
      expect(await inView('document.querySelector("img").naturalWidth')).toBe(640)
      expect(await view.locator('main').innerText()).toMatch(/Charged\s+0\.\d+ USD/)
      expect(asked.map(({ method }) => method)).toEqual(['resources/read'])
      await isQuiet(page, requests, complaints, `image-${colorScheme}`)
    },
    60_000,
  )

  test('a host that reads no resources shows the small image of the result', async () => {
    const given = { model: 'demo-image', prompt: 'A small kite', width: 640, height: 384 }
    const { page, view, inView, asked, requests, complaints } = await shown(connection, {
      ...{ tool: 'image_create', arguments: given, can: {} },
    })
    await view.locator('img').waitFor()
    expect(await inView('document.querySelector("img").naturalWidth')).toBe(512)
    expect(asked).toEqual([])
    await isQuiet(page, requests, complaints, 'small')
  }, 60_000)

  test('speech can be played', async () => {
    const { page, view, inView, requests, complaints } = await shown(connection, {
      ...{ tool: 'speech_create', arguments: { model: 'demo-speech', text: 'Hello.', format: 'wav' } },
    })
    await view.locator('audio').waitFor()
    await expect.poll(() => inView('document.querySelector("audio").duration')).toBeGreaterThan(0)
    await isQuiet(page, requests, complaints, 'audio')
  }, 60_000)

  test('a video is followed until it is done, and then played', async () => {
    const given = { model: 'demo-video', prompt: 'A lighthouse', duration: '2s', resolution: '360p' }
    const { page, view, asked, requests, complaints } = await shown(connection, {
      ...{ tool: 'video_create', arguments: given },
    })
    const video = view.locator('video')
    await video.waitFor({ timeout: 45_000 })
    expect(await video.getAttribute('src')).toMatch(/^data:video\/mp4;base64,/)
    const calls = asked.filter(({ method }) => method === 'tools/call').map(({ params }) => params.name)
    expect(new Set(calls)).toEqual(new Set(['job_wait']))
    await isQuiet(page, requests, complaints, 'video')
  }, 90_000)

  test.each([
    ['a spend', spend, 'It may cost more than 1.00 USD'],
    ['a consent', consent, policyText.split('\n')[0] ?? ''],
    ['a hostile text', { ...spend, why: '<img src=x onerror="parent.postMessage(1)"> & <b>bold</b>' }, '<b>bold</b>'],
  ])(
    '%s is shown whole and cannot be approved there',
    async (name, question, says) => {
      const asking = await connect({ host: fakeHost({ questions: [question] }).host })
      closing.push(() => asking.disconnect())
      const { page, view, asked, requests, complaints } = await shown(asking, {
        ...{ tool: 'video_create', arguments: { model: 'm', prompt: 'p', duration: '5s' } },
      })
      await view.getByRole('heading', { name: 'This needs your approval' }).waitFor()
      const text = await view.locator('main').innerText()
      expect(text).toContain(says)
      expect(text).toContain('farebox wallet approve')
      expect(text).toMatch(/in a terminal: farebox wallet open$/m)
      expect(await view.locator('button, input, a, form, img').count()).toBe(0)
      expect(asked, 'it asks the server for nothing').toEqual([])
      await isQuiet(page, requests, complaints, name.replaceAll(' ', '-'))
    },
    60_000,
  )

  test('the price of a call is shown before it is made', async () => {
    const { page, view, requests, complaints } = await shown(connection, {
      ...{ tool: 'estimate', arguments: { tool: 'web_search', arguments: { query: 'kites' } } },
    })
    await view.getByRole('heading', { name: 'Price of web_search' }).waitFor()
    expect(await view.locator('main').innerText()).toMatch(/At most\s+0\.01 USD[\s\S]*No approval is needed\./)
    await isQuiet(page, requests, complaints, 'price')
  }, 60_000)

  test.each(['light', 'dark'] as const)(
    'spending shows credit, caps, payments and charges: %s',
    async colorScheme => {
      await connection.client.callTool({ name: 'web_search', arguments: { query: `kites ${colorScheme}` } })
      const { page, view, asked, requests, complaints } = await shown(connection, {
        ...{ tool: 'wallet_status', arguments: {}, colorScheme },
      })
      await view.getByRole('heading', { name: 'Charges' }).waitFor()
      const text = await view.locator('main').innerText()
      expect(text).toMatch(/Credit: \d+\.\d+ USD/)
      expect(text).toContain('Today: 5.00 USD of 10.00 USD')
      expect(text).toContain('above 1.00 USD needs your approval.')
      await view.getByRole('button', { name: 'Refresh' }).click()
      const names = () => asked.map(({ params }) => params.name)
      await expect.poll(names).toEqual(['wallet_receipts', 'wallet_status', 'wallet_receipts'])
      await isQuiet(page, requests, complaints, `spending-${colorScheme}`)
    },
    60_000,
  )

  test('a failure reports the cause and the next step', async () => {
    const { page, view, requests, complaints } = await shown(connection, {
      ...{ tool: 'image_create', arguments: { model: 'demo-imag', prompt: 'x' } },
    })
    await view.getByRole('heading', { name: 'The call failed' }).waitFor()
    expect(await view.locator('main').innerText()).toMatch(/no model demo-imag\.[\s\S]*demo-image/)
    await isQuiet(page, requests, complaints, 'failure')
  }, 60_000)

  test('it answers its host, grows with its contents, and takes its theme', async () => {
    const asking = await connect({ host: fakeHost({ questions: [{ ...spend, amountMicroUsd: microUsd(7) }] }).host })
    closing.push(() => asking.disconnect())
    const { page, view, inView } = await shown(asking, {
      ...{ tool: 'wallet_top_up', arguments: { amount_usd: 5 } },
    })
    await view.getByRole('heading', { name: 'This needs your approval' }).waitFor()
    await expect
      .poll(() => page.evaluate('heard.some(each => each.method === "ui/notifications/size-changed")'))
      .toBe(true)
    const answers = await page.evaluate('Promise.all([ask("ping"), ask("ui/resource-teardown"), ask("ui/approve")])')
    expect(answers).toMatchObject([{ result: {} }, { result: {} }, { error: { code: -32601 } }])
    expect(await inView('document.documentElement.style.colorScheme')).toBe('dark')
  }, 60_000)
})
