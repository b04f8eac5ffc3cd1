/** An operator's usual tasks, by clicks alone: each step can be reached from the page before it. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { type OperatedService, openOperatedService } from '../journeys/operated-service.ts'
import { withChromium } from './with-chromium.ts'

/** Clicks that each step takes, beginning where the step before it ended. */
const clicks = {
  'name a customer': 4,
  credit: 2,
  'change a price': 4,
  'spend by day and model': 2,
  'a stuck payment': 4,
  suspend: 4,
  resume: 2,
  refund: 3,
  'export the ledger': 2,
  audit: 1,
  'back up and restore': 1,
}
type Step = keyof typeof clicks

withChromium('an operator’s hour', browser => {
  async function signedIn(service: OperatedService): Promise<{ view: Page; complaints: string[] }> {
    const context = await browser().newContext()
    onTestFinished(() => context.close())
    const view = await context.newPage()
    view.setDefaultTimeout(30_000)
    const complaints: string[] = []
    view.on('console', message => complaints.push(message.text()))
    view.on('pageerror', error => complaints.push(String(error)))
    await view.goto((await service.farebox('console')).trim())
    return { view, complaints }
  }

  test('by clicks', { timeout: 400_000 }, async () => {
    const service = await openOperatedService()
    onTestFinished(() => service.close())
    const { farebox, chat, endless, serve } = service
    const { key, account } = JSON.parse(await farebox('keys', 'create', '--usd', '1', '--json'))
    const former = await chat(key)
    const { view, complaints } = await signedIn(service)
    const counted: Partial<Record<Step, number>> = {}
    let step: Step = 'name a customer'
    const begin = (next: Step) => {
      step = next
    }
    const click = async (locator: Locator) => {
      counted[step] = (counted[step] ?? 0) + 1
      await locator.click()
    }
    const link = (name: string | RegExp) => view.getByRole('link', { name, exact: typeof name === 'string' }).first()
    const button = (name: string) => view.getByRole('button', { name, exact: true })
    const said = (words: RegExp) =>
      expect.poll(() => view.locator('.said').innerText(), { timeout: 30_000 }).toMatch(words)
    /** Opens a dialog, fills it in and sends it. */
    const does = async (name: string, fields: Record<string, string>) => {
      await click(button(name))
      const dialog = view.getByRole('dialog')
      for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label, { exact: true }).fill(text)
      await click(dialog.getByRole('button', { name, exact: true }))
      await dialog.waitFor({ state: 'detached' })
    }

    await click(link('Customers'))
    await click(view.getByTitle(account))
    await does('Edit details', { Name: 'Fennel Press' })
    await view.getByRole('heading', { level: 2, name: 'Fennel Press' }).waitFor()
    begin('credit')
    await does('Credit', { USD: '5', Reason: 'invoice 17' })
    await said(/^Credited Fennel Press/)

    begin('change a price')
    await click(link('Settings'))
    await click(button('Change demo-chat'))
    await view.getByLabel('outputPerMillionUsd').fill('2000')
    await click(button('Show the change'))
    const review = view.getByRole('dialog', { name: 'Change farebox.yaml' })
    await review.locator('.fresh').waitFor()
    expect(await review.locator('.former').innerText()).toContain('outputPerMillionUsd: 1000 ')
    expect(await review.locator('.fresh').innerText()).toContain('outputPerMillionUsd: 2000 ')
    await review.getByLabel('Reason').fill('a better engine')
    await click(button('Write and reload'))
    await said(/the service uses it/)
    const next = await chat(key)

    begin('spend by day and model')
    await click(link('Overview'))
    await click(link('By day and model'))
    const today = new Date().toISOString().slice(0, 10)
    const row = view.getByRole('table', { name: 'Usage' }).getByRole('row').filter({ hasText: today })
    await row.filter({ hasText: 'demo-chat' }).waitFor()
    await view.getByRole('button', { name: 'Save all as CSV' }).waitFor()

    begin('a stuck payment')
    await click(link('Overview'))
    await click(link(/what to do$/))
    await view.getByText('Don’t credit the customer by hand').waitFor()
    await click(view.getByRole('button', { name: /^Check again:/ }))
    await view.getByRole('dialog').getByLabel('Reason').fill('the customer asked')
    await click(button('Check now'))
    await said(/^The payment is unknown\. (The chain does not answer|The service is checking it right now)/)

    begin('suspend')
    const running = await endless(key)
    await click(link('Customers'))
    await click(link('Fennel Press'))
    await does('Suspend', { Reason: 'a stolen card' })
    await view.getByText('Suspended since').waitFor()
    expect(await chat(key)).toMatchObject({ status: 403, code: 'API_ACCESS_DISABLED' })
    expect(await running.ended).toMatchObject({ code: 'API_ACCESS_DISABLED' })
    begin('resume')
    await does('Resume', {})
    await button('Suspend').waitFor()
    expect((await chat(key)).status).toBe(200)

    begin('refund')
    await click(link(next.request))
    const usd = (tokens: number, usdPerThousand: number) => ((tokens * usdPerThousand) / 1_000).toFixed(6)
    await view.getByText(`${usd(next.tokens, 2)} USD`).waitFor()
    await does('Refund', { Reason: 'it was wrong' })
    await said(/was returned for request/)

    begin('export the ledger')
    await click(link('Ledger'))
    const saving = view.waitForEvent('download')
    await click(button('Save all as CSV'))
    const entries = await readFile((await (await saving).path()) ?? '', 'utf8')
    for (const { request, tokens, rate } of [
      { ...former, rate: 1 },
      { ...next, rate: 2 },
    ])
      expect(entries.split('\r\n').find(line => line.includes(request) && line.includes('CHARGE'))).toContain(
        `-${usd(tokens, rate)}`,
      )
    begin('audit')
    await click(button('Audit now'))
    await view.getByText('Everything adds up').waitFor()

    begin('back up and restore')
    await click(view.getByText('Back up and restore'))
    // What the stream held is freed with its lease.
    const shown = () => farebox('customers', 'show', account)
    await expect.poll(shown, { timeout: 120_000, interval: 1_000 }).toContain('of which 0.00 USD is')
    const ledger = await farebox('ledger', 'export')
    const commands = await view.locator('details .copy code').allInnerTexts()
    expect(commands.map(command => command.split(' ')[1])).toEqual(['backup', 'restore'])
    for (const command of commands) {
      const [, ...words] = command.split(' ')
      const args = words.map(word => (/^(ledger-|restored)/.test(word) ? join(serve.folder, word) : word))
      await farebox(...args)
    }
    const restored = join(serve.folder, 'restored')
    expect(await farebox('ledger', 'export', '--data', restored)).toBe(ledger)
    expect(counted).toEqual(clicks)
    expect(complaints).toEqual([])
  })
})
