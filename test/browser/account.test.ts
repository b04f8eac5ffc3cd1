import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createKey } from '#access/keys/api-keys.ts'
import { dayMs, systemClock } from '#contract/time.ts'
import { Listener } from '#service/http/listener.ts'
import { committer, type Used, useFor } from '../account/account-use.ts'
import { openService, type TestClock } from '../service/open-service.ts'
import { expectNoFinding } from './axe.ts'
import { withChromium } from './with-chromium.ts'

const markup = `<img src="https://evil.example/x.png" onerror="document.title = 'taken over'">`
const month = new Date().toISOString().slice(0, 7)
const monthBefore = new Date(Date.now() - 31 * dayMs).toISOString().slice(0, 7)
const models = ['demo-chat', 'demo-image', 'demo-video']

interface Served {
  origin: string
  account: string
  admin: string
  plain: string
  used: Used[]
  service: Awaited<ReturnType<typeof openService>>
  commit: ReturnType<typeof committer>
}

const pages = [
  ['/account', 'Overview', 'Available'],
  ['/account/requests', 'Requests', '1–50 of'],
  ['/account/request?id=call-1-1', 'Request', 'Save the receipt'],
  ['/account/keys', 'Keys', 'Build server'],
  ['/account/limits', 'Limits', 'No request was refused.'],
  ['/account/invoices', 'Invoices', month],
  [`/account/invoice?month=${month}`, 'Invoice', 'Total, paid from credit'],
  ['/account/top-up', 'Top up', 'USDC'],
] as const

withChromium('the customers’ page in a browser', browser => {
  const closing: (() => Promise<unknown>)[] = []
  let served: Served
  beforeEach(async () => {
    served = await serve()
  }, 60_000)
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  /** A customer with a month of calls, on a port of this machine. */
  async function serve(): Promise<Served> {
    const listener = await Listener.open({ host: '127.0.0.1', port: 0 })
    const origin = `http://127.0.0.1:${listener.port}`
    const service = await openService({ clock: systemClock as TestClock, settings: { publicUrl: origin } })
    listener.serve(service.service.app.fetch)
    closing.push(service.close, () => listener.close(0))
    // The credit is older than the calls that it pays.
    const at = { keys: service.service.keys, now: () => Date.now() - 31 * dayMs }
    const first = await createKey(at, { amountMicroUsd: 25_000_000n, label: 'Office', role: 'ADMIN' })
    const { account } = first
    const second = await createKey(at, { account, amountMicroUsd: 0n, label: 'Build server' })
    const commit = committer(service)
    const set = { name: 'Harbour Studio', email: 'office@harbour.example' }
    await commit({ op: 'customer', account, set, atMs: Date.now() })
    const used = await useFor(service, { account, keys: [first.keyId, second.keyId], name: 'call', days: 30, models })
    return { origin, account, admin: first.key, plain: second.key, used, service, commit }
  }

  /** A browser that has signed in with a key, with all that it asked for and complained of. */
  async function visit(key: string, options: Parameters<ReturnType<typeof browser>['newContext']>[0] = {}) {
    const context = await browser().newContext(options)
    closing.push(() => context.close())
    const view = await context.newPage()
    view.setDefaultTimeout(30_000)
    const asked: string[] = []
    const complaints: string[] = []
    context.on('request', request => asked.push(request.url()))
    view.on('pageerror', error => complaints.push(String(error)))
    await view.goto(`${served.origin}/account`)
    await view.getByRole('textbox', { name: 'API key' }).fill(key)
    await view.keyboard.press('Enter')
    await view.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    // The browser reports the 401 that led to the sign-in.
    view.on('console', message => complaints.push(message.text()))
    return { view, asked, complaints, open: (path: string) => view.goto(`${served.origin}${path}`) }
  }
  const shows = (view: Page, text: string) => view.getByText(text, { exact: false }).first().waitFor()
  const saved = async (view: Page, button: string): Promise<string> => {
    const saving = view.waitForEvent('download')
    await view.getByRole('button', { name: button, exact: true }).click()
    return readFileSync((await (await saving).path()) ?? '', 'utf8')
  }

  test.each([
    { colorScheme: 'light', viewport: { width: 1280, height: 900 } },
    { colorScheme: 'dark', viewport: { width: 1280, height: 900 } },
    { colorScheme: 'light', viewport: { width: 360, height: 740 } },
  ] as const)(
    'C8: no page has a finding of axe, a complaint or a request elsewhere: $colorScheme, $viewport.width px',
    async options => {
      const { view, asked, complaints, open } = await visit(served.admin, options)
      for (const [path, title, text] of pages) {
        await open(path)
        await view.getByRole('heading', { level: 1, name: title }).waitFor()
        await shows(view, text)
        if (path === '/account') await shows(view, 'Highest:')
        const wide = await view.evaluate('document.documentElement.scrollWidth')
        expect([path, Number(wide) <= options.viewport.width]).toEqual([path, true])
        await expectNoFinding(view, path)
        const { SCREENSHOTS: folder } = process.env
        const name = options.viewport.width === 360 ? 'narrow' : options.colorScheme
        const file = `account-${title.toLowerCase().replaceAll(' ', '-')}-${name}.png`
        if (folder) await view.screenshot({ path: join(folder, file) })
      }
      expect(asked.filter(url => !url.startsWith(served.origin))).toEqual([])
      expect(complaints).toEqual([])
    },
    120_000,
  )

  test('shows and saves the figures of the ledger to the micro-USD', async () => {
    const { view, open } = await visit(served.admin)
    await view.getByText('By day, to the micro-USD').click()
    const sumOf = (csv: string, name: string) => {
      const [head = '', ...lines] = csv.trimEnd().split('\r\n')
      const column = head.split(',').indexOf(name)
      return lines.reduce((sum, line) => sum + BigInt((line.split(',')[column] ?? '').replace('.', '')), 0n)
    }
    const charged = served.used.reduce((sum, { chargedMicroUsd }) => sum + chargedMicroUsd, 0n)
    expect(sumOf(await saved(view, 'Save as CSV'), 'charged')).toBe(charged)
    await open(`/account/invoice?month=${month}`)
    const invoice = sumOf(await saved(view, 'Save as CSV'), 'charged_usd')
    const ofMonth = (name: string) => view.locator(`dt:has-text("${name}") + dd`).first().innerText()
    expect(invoice).toBe(BigInt((await ofMonth('Charged')).replace('.', '')))
  }, 60_000)

  test('an invoice prints as one page of the seller, the customer and the sums, without the site around it', async () => {
    const { view, open } = await visit(served.admin)
    await open(`/account/invoice?month=${month}`)
    await shows(view, 'Total, paid from credit')
    await view.emulateMedia({ media: 'print' })
    for (const hidden of ['Sign out', 'All invoices', 'Save as CSV'])
      expect([hidden, await view.getByText(hidden, { exact: true }).isVisible()]).toEqual([hidden, false])
    for (const shown of [served.origin, 'office@harbour.example', 'Total, paid from credit', 'Balance now'])
      expect([shown, await view.locator('.sheet').getByText(shown).isVisible()]).toEqual([shown, true])
    const pdf = (await view.pdf({ format: 'A4' })).toString('latin1')
    expect(pdf.match(/\/Type \/Page\b/g)).toHaveLength(1)
  }, 60_000)

  test('creates a key with a budget, shows it once, and revokes it', async () => {
    const { view, complaints } = await visit(served.admin)
    await view.getByRole('link', { name: 'Keys', exact: true }).click()
    await view.getByRole('button', { name: 'Create a key' }).click()
    const dialog = view.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Label' }).fill('Robot')
    await dialog.getByRole('textbox', { name: 'Budget in USD' }).fill('2.5')
    await dialog.getByRole('button', { name: 'Create' }).click()
    const secret = await view.locator('.secret code').innerText()
    const chat = { model: 'demo-chat', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await served.service.post('/chat/completions', chat, secret)).status).toBe(200)
    await view.getByRole('row', { name: /Robot.*of 2\.50 USD a day/ }).waitFor()
    await view.reload()
    await view.getByRole('button', { name: 'Change Robot' }).click()
    const change = view.getByRole('dialog', { name: 'Change this key' })
    await change.getByLabel('Budget in USD').fill('7.5')
    await change.getByLabel('Ends on').fill('2031-02-03')
    await change.getByRole('button', { name: 'Change', exact: true }).click()
    await view.getByText('of 7.50 USD').waitFor()
    await view.getByText('2031-02-03').waitFor()
    await view.getByRole('button', { name: 'Revoke Robot' }).click()
    expect(await view.content()).not.toContain(secret)
    await view.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await shows(view, 'The key is revoked')
    await view.getByRole('button', { name: 'Revoke Robot' }).waitFor({ state: 'detached' })
    expect((await served.service.post('/chat/completions', chat, secret)).status).toBe(401)
    expect(complaints).toEqual([])
  }, 60_000)

  describe('requests and invoices', () => {
    test('finds a request by model and day, turns pages, and saves its signed receipt', async () => {
      const { view } = await visit(served.admin)
      await view.getByRole('link', { name: 'Requests', exact: true }).click()
      await shows(view, '1–50 of 90')
      await view.getByRole('button', { name: 'Next' }).click()
      await shows(view, '51–90 of 90')
      await view.getByLabel('Model').selectOption('demo-image')
      await shows(view, '1–30 of 30')
      await view.getByRole('table', { name: 'Requests' }).locator('tbody a').first().click()
      await view.getByRole('table', { name: 'Lines of the charge' }).getByText('image.output').waitFor()
      expect(await saved(view, 'Save the receipt')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    }, 60_000)

    test.each([
      ['invoice', `month=${month}`, `month=${monthBefore}`, month],
      ['request', 'id=call-1-1', 'id=call-2-1', 'call-1-1'],
    ])(
      'after a step in the history, no %s is shown under the name of another',
      async (name, first, second, shown) => {
        const { view, open } = await visit(served.admin)
        await open(`/account/${name}?${first}`)
        await view.locator('main dd').getByText(shown, { exact: true }).waitFor()
        await view.route(`**/account/api/${name}`, () => new Promise(() => undefined))
        await view.evaluate(`history.pushState(null, '', '?${second}'); dispatchEvent(new PopStateEvent('popstate'))`)
        await view.locator('main dd').getByText(shown, { exact: true }).waitFor({ state: 'detached' })
        await view.evaluate('history.back()')
        await view.locator('main dd').getByText(shown, { exact: true }).waitFor()
      },
      60_000,
    )
  })

  test('an INFERENCE key has neither keys nor invoices, and sees what it spent itself', async () => {
    const { view, open, complaints } = await visit(served.plain)
    await shows(view, 'that this key may spend')
    expect(await view.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts()).toEqual([
      ...['Overview', 'Requests', 'Limits', 'Top up'],
    ])
    await open('/account/keys')
    await view.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor()
    await open('/account/requests')
    await shows(view, '1–45')
    expect(complaints).toEqual([])
  }, 60_000)

  test('works by the keyboard: sections, a dialog and back', async () => {
    const { view } = await visit(served.admin)
    const focused = () => view.evaluate('document.activeElement.textContent')
    const moveTo = async (name: string) => {
      for (let n = 0; n < 60 && (await focused()) !== name; n++) await view.keyboard.press('Tab')
      expect(await focused()).toBe(name)
    }
    await moveTo('Keys')
    await view.keyboard.press('Enter')
    await view.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
    expect(await focused()).toBe('Keys')
    await moveTo('Create a key')
    await view.keyboard.press('Enter')
    await view.getByRole('dialog').waitFor()
    await view.keyboard.press('Escape')
    await view.locator('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Create a key')
    await view.goBack()
    await view.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  }, 60_000)

  test('C9: words of others are texts: in a label, a model, a reason, a name', async () => {
    const { account, commit, service } = served
    const atMs = Date.now()
    await createKey(
      { keys: service.service.keys, now: Date.now },
      { account, amountMicroUsd: 0n, label: markup.slice(0, 64) },
    )
    await commit({ op: 'customer', account, set: { name: markup, email: markup }, atMs })
    await useFor(service, { account, keys: [null], name: 'odd', days: 1, models: [markup] })
    await commit({ op: 'limit', account, key: null, model: markup, tier: markup, type: 'RPM', atMs })
    const { view, asked, complaints, open } = await visit(served.admin)
    for (const path of [
      ...['/account', '/account/requests', '/account/request?id=odd-0-0', '/account/keys', '/account/limits'],
      `/account/invoice?month=${month}`,
    ]) {
      await open(path)
      await view.getByText('evil.example', { exact: false }).first().waitFor({ state: 'attached' })
      expect(await view.title()).toMatch(/· account$/)
      expect(await view.locator('#page script, #page img').count()).toBe(0)
    }
    expect(asked.filter(url => new URL(url).host === 'evil.example')).toEqual([])
    expect(complaints).toEqual([])
  }, 60_000)
})
