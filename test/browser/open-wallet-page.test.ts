import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ReceiptRows } from '#agent/receipts/receipt-rows.ts'
import { microUsd } from '#contract/money.ts'
import type { ApprovalFacts } from '#wallet/terms/approval.ts'
import { openAgent } from '../agent/open-agent.ts'
import { openedWalletPage } from '../agent/opened-wallet-page.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { openHostileSite } from './hostile-site.ts'
import { askWithImage, chargeRow, consent, signedReceipt, spend, spendAMonth } from './wallet-history.ts'
import { withChromium } from './with-chromium.ts'

const markup = `</pre><script>document.title = 'taken over'</script><img src="https://evil.example/x.png" onerror="document.title = 'taken over'">`

withChromium('the wallet’s page in a browser', browser => {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  let agent: Awaited<ReturnType<typeof openAgent>>
  let opened: Awaited<ReturnType<typeof openedWalletPage>>
  beforeEach(async () => {
    const service = await pretendService()
    agent = await openAgent({ baseUrl: service.baseUrl })
    const address = agent.wallet?.address ?? ''
    const seen = { atMs: Date.now(), unknown: null }
    opened = await openedWalletPage(agent.dataFolder, service.baseUrl, {
      holdings: async () => ({
        creditMicroUsd: microUsd(4_231_900),
        creditSeen: seen,
        onChain: [{ network: 'eip155:8453', address, amountMicroUsd: microUsd(7_500_000), ...seen }],
      }),
    })
    closing.push(service.close, agent.close, opened.close)
  }, 60_000)

  const ask = (facts: ApprovalFacts, prompt?: string) => askWithImage(agent, facts, prompt)
  const stateOf = async (id: string) => (await agent.approvals.get(id))?.state

  /** A new browser of a user, with all that it asked for and complained of. */
  async function visit(link: string, options: Parameters<ReturnType<typeof browser>['newContext']>[0] = {}) {
    const context = await browser().newContext(options)
    closing.push(() => context.close())
    const view = await context.newPage()
    const asked: string[] = []
    const complaints: string[] = []
    context.on('request', request => asked.push(request.url()))
    view.on('console', message => complaints.push(message.text()))
    view.on('pageerror', error => complaints.push(String(error)))
    view.setDefaultTimeout(30_000)
    await view.goto(link)
    return { view, asked, complaints }
  }
  const said = (view: Page, words: RegExp) =>
    expect.poll(() => view.locator('.said').innerText(), { timeout: 30_000 }).toMatch(words)
  const ready = (view: Page) => view.getByRole('heading', { name: 'Receipts' }).waitFor()

  test('decides by all three statements, and shows the image that the call sends', async () => {
    const id = await ask(consent)
    const { view, asked, complaints } = await visit(opened.page.link())
    const card = view.locator('form.approval')
    await card.locator('img').waitFor()
    expect(await card.locator('img').evaluate(image => Reflect.get(image, 'naturalWidth'))).toBeGreaterThan(0)
    for (const box of (await card.getByRole('checkbox').all()).slice(0, 2)) await box.check()
    await card.getByRole('button', { name: 'I consent' }).click()
    await expect.poll(() => card.getByRole('alert').innerText()).toMatch(/all three statements/)
    expect(await stateOf(id)).toBe('pending')
    for (const box of await card.getByRole('checkbox').all()) await box.check()
    await card.getByRole('button', { name: 'I consent' }).click()
    await said(view, /^Approved\. The assistant can continue/)
    expect(await stateOf(id)).toBe('approved')
    await view.getByText('Nothing is pending.').waitFor()
    expect(await view.evaluate('document.activeElement.id')).toBe('approvals-title')
    const { origin } = new URL(opened.page.link())
    expect(asked.filter(url => !url.startsWith(origin) && !url.startsWith(`blob:${origin}`))).toEqual([])
    // Chromium itself logs that the server refused the first answer.
    expect(complaints.filter(text => !/status of 409/.test(text))).toEqual([])
  }, 60_000)

  test('words of others are texts: in a policy, a prompt, a model’s name, a receipt', async () => {
    await ask({ ...consent, policyText: markup }, markup)
    await ask({ ...spend, what: markup, because: markup })
    const rows = new ReceiptRows(agent.state)
    rows.add(
      chargeRow('r1', {
        model: markup,
        what: markup,
        tool: markup,
        problem: markup,
        state: 'differs',
        receipt: signedReceipt('another', 5n, 'm'),
        saidMicroUsd: microUsd(5),
        atMs: Date.now(),
      }),
    )
    const { view, asked, complaints } = await visit(opened.page.link())
    await ready(view)
    await view.locator('#receipts td').first().waitFor()
    expect(await view.getByRole('textbox', { name: 'Policy' }).inputValue()).toBe(markup)
    expect(await view.title()).toBe('(2) farebox wallet')
    expect(await view.locator('#page script, #page img:not([src^="blob:"])').count()).toBe(0)
    expect(asked.filter(url => url.includes('evil.example'))).toEqual([])
    expect(complaints).toEqual([])
  }, 60_000)

  test('shows the figures of receipts and journal to the micro-USD, and saves them', async () => {
    const sum = spendAMonth(agent)
    await agent.chat()
    const { view, complaints } = await visit(opened.page.link())
    await view.getByText('By day, to the micro-USD').click()
    const cells = view.locator('#spending details td.number')
    await cells.first().waitFor()
    const amounts = (await cells.allInnerTexts()).map(text => BigInt(text.replace('.', '')))
    const [charged, paid] = [0, 1].map(column =>
      amounts.filter((_, at) => at % 2 === column).reduce((a, b) => a + b, 0n),
    )
    const payments = (await agent.wallet?.receipts(10)) ?? []
    expect(charged).toBe(sum + 1_000n)
    expect(paid).toBe(payments.reduce((all, { amountMicroUsd }) => all + amountMicroUsd, 0n))
    const saving = view.waitForEvent('download')
    await view.locator('#spending details').getByRole('button', { name: 'Save as CSV' }).click()
    const lines = readFileSync((await (await saving).path()) ?? '', 'utf8')
      .trimEnd()
      .split('\r\n')
    expect([lines[0], lines.length]).toEqual(['day_utc_,charged_usd,paid_usd', 31])
    expect(complaints).toEqual([])
  }, 60_000)

  test('works by the keyboard: the stop switch, money back, a cap, Escape', async () => {
    const { view } = await visit(opened.page.link())
    await ready(view)
    const press = async (...keys: string[]) => {
      for (const each of keys) await view.keyboard.press(each)
    }
    const focused = () =>
      view.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent')
    const tabTo = async (name: string) => {
      for (let n = 0; n < 40 && (await focused()) !== name; n++) await press('Tab')
      expect(await focused()).toBe(name)
    }
    await tabTo('Stop the wallet')
    await press('Space')
    await said(view, /^Stopped/)
    await tabTo('Send back from Base')
    await press('Enter')
    await view.getByRole('dialog').waitFor()
    await press('Escape')
    await view.locator('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Send back from Base')
    await tabTo('Lower the cap: One payment')
    await press('Enter')
    await view.getByRole('dialog').waitFor()
    await press('Escape')
    await view.locator('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Lower the cap: One payment')
    await press('Enter')
    await view.getByRole('dialog').waitFor()
    await view.keyboard.type('2')
    await press('Enter')
    await said(view, /^The cap "per payment" is 2\.00 USD/)
    expect(opened.ownerWallet.caps().find(({ name }) => name === 'maxPaymentUsd')?.amountMicroUsd).toBe(2_000_000n)
  }, 60_000)

  test('opens by its link once: another browser is refused, and the first one continues', async () => {
    const link = opened.page.link()
    const { view } = await visit(link)
    await ready(view)
    expect(view.url()).not.toContain(new URL(link).hash)
    const other = await visit(link)
    await expect.poll(() => other.view.getByRole('alert').innerText()).toMatch(/already used.*wallet open/)
    await view.reload()
    await ready(view)
  }, 60_000)

  test('another site cannot frame it, read it or decide on it', async () => {
    const id = await ask(spend)
    const { view } = await visit(opened.page.link())
    await ready(view)
    const { origin } = new URL(opened.page.link())
    const form = `<form method="post" enctype="text/plain" action="${origin}/api/approvals"><input name='{"id":"${id}","isApproved":true,"a":"' value='"}'></form>`
    const { attacker, post, close } = await openHostileSite(view, { origin, path: '/api/wallet' }, form)
    closing.push(close)
    await post('/api/approvals', { id, isApproved: true })
    await attacker.evaluate('document.forms[0].submit()')
    await attacker.waitForLoadState()
    expect(await stateOf(id)).toBe('pending')
  }, 60_000)

  test('says that it is over once its server has ended', async () => {
    const { view } = await visit(opened.page.link())
    await ready(view)
    await opened.page.close()
    await expect.poll(() => view.getByRole('alert').first().innerText(), { timeout: 30_000 }).toMatch(/has stopped/)
  }, 60_000)
})
