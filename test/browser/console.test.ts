import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { OperatorRole } from '#pages/console/wire.ts'
import { expectNoFinding } from './axe.ts'
import { aMonth, people, type ServedConsole, serveConsole } from './console-service.ts'
import { openHostileSite } from './hostile-site.ts'
import { withChromium } from './with-chromium.ts'

const markup = `<img src="https://evil.example/x.png" onerror="document.title = 'taken over'"><script>document.title = 'taken over'</script>`

const pages = [
  ['/', 'Overview', 'Revenue by day (UTC)'],
  ['/customers', 'Customers', 'Harbour Studio'],
  ['/customer?id=customer-0', 'Customer', 'Harbour Studio'],
  ['/usage', 'Usage', 'demo-chat'],
  ['/ledger', 'Ledger', 'demo-chat'],
  ['/request?id=request-0-29-0', 'Request', 'Show the receipt'],
  ['/payments', 'Payments', 'unknown, stuck'],
  ['/jobs', 'Jobs', 'No jobs found.'],
  ['/models', 'Models', 'demo-chat'],
  ['/limits', 'Limits', 'No caller is blocked.'],
  ['/acts', 'Audit log', 'No actions.'],
  ['/settings', 'Settings', 'farebox.yaml is valid.'],
  ['/your-sign-in', 'Your sign-in', 'You have no passkey yet.'],
] as const

withChromium('the console in a browser', browser => {
  const closing: (() => Promise<unknown>)[] = []
  let served: ServedConsole
  beforeEach(async () => {
    served = await serveConsole()
    closing.push(served.close)
  }, 60_000)
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  /** A new browser of an operator, with all that it asked for and complained of. */
  async function visit(
    role: OperatorRole = 'owner',
    options: Parameters<ReturnType<typeof browser>['newContext']>[0] = {},
  ) {
    const context = await browser().newContext(options)
    closing.push(() => context.close())
    const view = await context.newPage()
    const asked: string[] = []
    const complaints: string[] = []
    context.on('request', request => asked.push(request.url()))
    view.on('console', message => complaints.push(message.text()))
    view.on('pageerror', error => complaints.push(String(error)))
    view.setDefaultTimeout(30_000)
    const link = await served.link(role)
    await view.goto(link)
    await view.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    const { origin } = new URL(link)
    return { view, asked, complaints, origin, open: (path: string) => view.goto(`${origin}${path}`) }
  }
  const said = (view: Page, words: RegExp) =>
    expect.poll(() => view.locator('.said').innerText(), { timeout: 30_000 }).toMatch(words)
  const shows = (view: Page, text: string) => view.getByText(text, { exact: false }).first().waitFor()

  test.each([
    { colorScheme: 'light', viewport: { width: 1280, height: 900 } },
    { colorScheme: 'dark', viewport: { width: 1280, height: 900 } },
    { colorScheme: 'light', viewport: { width: 360, height: 740 } },
  ] as const)(
    'no page has a finding of axe, a complaint or a request elsewhere: $colorScheme, $viewport.width px',
    async options => {
      await aMonth(served)
      const { view, asked, complaints, origin, open } = await visit('owner', options)
      for (const [path, title, text] of pages) {
        await open(path)
        await view.getByRole('heading', { level: 1, name: title }).waitFor()
        await shows(view, text)
        if (path === '/') await shows(view, 'Median duration')
        if (path === '/ledger') {
          await view.getByRole('button', { name: 'Audit now' }).click()
          await shows(view, 'Everything adds up')
        }
        const wide = await view.evaluate('document.documentElement.scrollWidth')
        expect([path, Number(wide) <= options.viewport.width]).toEqual([path, true])
        await expectNoFinding(view, path)
        const { SCREENSHOTS: folder } = process.env
        const name = options.viewport.width === 360 ? 'narrow' : options.colorScheme
        const file = `console-${title.toLowerCase().replaceAll(' ', '-')}-${name}.png`
        if (folder) await view.screenshot({ path: join(folder, file) })
      }
      expect(asked.filter(url => !url.startsWith(origin))).toEqual([])
      expect(complaints).toEqual([])
    },
    120_000,
  )

  test('shows the figures of the ledger to the micro-USD', async () => {
    const { chargedMicroUsd } = await aMonth(served)
    const { view, open } = await visit()
    await view.getByText('By day, to the micro-USD').click()
    await view.locator('details td.number').first().waitFor()
    const cells = await view.locator('details table').first().locator('tbody tr td:nth-child(3)').allInnerTexts()
    expect(cells).toHaveLength(30)
    expect(cells.reduce((sum, text) => sum + BigInt(text.replace('.', '')), 0n)).toBe(chargedMicroUsd)
    await open('/ledger?kind=CHARGE')
    await shows(view, '1–50 of')
    const saving = view.waitForEvent('download')
    await view.getByRole('button', { name: 'Save all as CSV' }).click()
    const [head = '', ...lines] = readFileSync((await (await saving).path()) ?? '', 'utf8')
      .trimEnd()
      .split('\r\n')
    const column = head.split(',').indexOf('amountUsd')
    const sum = lines.reduce((all, line) => all + BigInt((line.split(',')[column] ?? '').replace('.', '')), 0n)
    expect(-sum).toBe(chargedMicroUsd)
  }, 60_000)

  test('says what to do about a stuck payment, and credits it once the chain shows it', async () => {
    await aMonth(served)
    const { view, complaints, open } = await visit('support')
    await open('/payments?stage=stuck')
    await shows(view, 'Don’t credit the customer by hand')
    await view.getByRole('button', { name: 'Check again:' }).click()
    const dialog = view.getByRole('dialog', { name: 'Check this payment again' })
    await dialog.getByLabel('Reason').fill('Ada asked')
    await expectNoFinding(view, 'a stuck payment')
    await dialog.getByRole('button', { name: 'Check now' }).click()
    await said(view, /^The payment is credited/)
    await shows(view, 'No payments found.')
    const { read } = served.service.store
    const credits = await read.selectFrom('entry').select('amount').where('ref', 'like', 'topup:evm:%').execute()
    expect(credits).toHaveLength(1)
    await open('/acts?act=payment.check')
    await shows(view, 'Ada asked')
    expect(complaints).toEqual([])
    await open('/payments')
    await view.getByText('Check again').waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  }, 60_000)

  test('tries an engine and says that it may cost money; shows its image, and plays its speech', async () => {
    const { view, complaints, open } = await visit()
    await open('/models')
    await shows(view, 'USD per million')
    await shows(view, 'Video and music cannot be tried')
    for (const [model, isShown] of [
      ['demo-chat', null],
      ['demo-image', `document.querySelector('.made img').naturalWidth > 0`],
      ['demo-speech', `document.querySelector('.made audio').readyState > 0`],
    ] as const) {
      await view.getByRole('button', { name: `Try near of ${model}` }).click()
      const dialog = view.getByRole('dialog', { name: `Try near of ${model}` })
      await dialog.getByText('the provider charges you').waitFor()
      await dialog.getByRole('button', { name: 'Send one request' }).click()
      await said(view, new RegExp(`^near of ${model}: works after .* It answered\\.$`))
      if (isShown) await expect.poll(() => view.evaluate(isShown), { timeout: 30_000 }).toBe(true)
      await expectNoFinding(view, `what ${model} made`)
    }
    await open('/acts?act=model.try')
    await shows(view, 'demo-chat, near')
    expect(complaints).toEqual([])
  }, 90_000)

  test('shows a change of a price before it is written, and writes it', async () => {
    const { view, complaints, open } = await visit()
    const before = await served.configText()
    await open('/settings')
    await view.getByRole('button', { name: 'Change demo-chat' }).click()
    await view.getByLabel('outputPerMillionUsd').fill('0.35')
    await view.getByRole('button', { name: 'Show the change' }).click()
    const review = view.getByRole('dialog', { name: 'Change farebox.yaml' })
    await review.locator('.fresh').first().waitFor()
    expect(await review.locator('.former').allInnerTexts()).toEqual([
      expect.stringContaining('outputPerMillionUsd: 0.40'),
    ])
    expect(await review.locator('.fresh').allInnerTexts()).toEqual([
      expect.stringContaining('outputPerMillionUsd: 0.35'),
    ])
    expect(await view.content()).not.toMatch(/10\.9\.8\.7|a-key-of|in 2027/)
    expect(await served.configText()).toBe(before)
    await expectNoFinding(view, 'a change of the settings')
    const { SCREENSHOTS: folder } = process.env
    if (folder) await view.screenshot({ path: join(folder, 'console-settings-change-light.png') })
    await review.getByLabel('Reason').fill('A cheaper engine')
    await review.getByRole('button', { name: 'Write and reload' }).click()
    await said(view, /^The file was written, and the service uses it/)
    expect(await served.configText()).toBe(before.replace('0.40', '0.35'))
    await view.getByRole('button', { name: 'Change demo-chat' }).click()
    await view.getByLabel('cachedInputPerMillionUsd (optional)').fill('0.05')
    await view.getByRole('button', { name: 'Show the change' }).click()
    await review.getByLabel('Reason').fill('Its cache is cheap')
    await review.getByRole('button', { name: 'Write and reload' }).click()
    await view.getByText('cachedInputPerMillionUsd 0.05').waitFor()
    await view.getByRole('button', { name: 'Change demo-chat' }).click()
    await view.getByLabel('cachedInputPerMillionUsd (optional)').fill('')
    await view.getByRole('button', { name: 'Show the change' }).click()
    await review.getByLabel('Reason').fill('It is not')
    await review.getByRole('button', { name: 'Write and reload' }).click()
    await view.getByText('cachedInputPerMillionUsd 0.05').waitFor({ state: 'detached' })
    expect(await served.configText()).toBe(before.replace('0.40', '0.35'))
    await view.getByRole('button', { name: 'Add a limit' }).click()
    await view.getByLabel('Name').selectOption('text')
    await view.getByLabel('Requests per minute').fill('5')
    await view.getByRole('button', { name: 'Show the change' }).click()
    await review.getByRole('button', { name: 'Cancel' }).click()
    expect(await served.configText()).toBe(before.replace('0.40', '0.35'))
    await open('/acts?act=settings.change')
    await shows(view, 'A cheaper engine')
    expect(complaints).toEqual([])
  }, 60_000)

  test('finds a customer, credits, suspends and resumes it, each with a row in the log', async () => {
    await aMonth(served)
    const { view, complaints } = await visit()
    await view.getByRole('link', { name: 'Customers', exact: true }).click()
    await view.getByRole('searchbox', { name: 'Search' }).fill('nimbus')
    await view.keyboard.press('Enter')
    await shows(view, '1–1 of 1')
    await view.getByRole('link', { name: 'Nimbus Labs' }).click()
    const does = async (name: string, fields: Record<string, string>) => {
      await view.getByRole('button', { name, exact: true }).click()
      const dialog = view.getByRole('dialog')
      for (const [label, text] of Object.entries(fields)) await dialog.getByLabel(label).fill(text)
      await dialog.getByRole('button', { name, exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await does('Credit', { USD: '2.5', Reason: 'An outage' })
    await said(view, /^Credited Nimbus Labs\. The balance is \d/)
    await does('Suspend', { Reason: 'A stolen card' })
    await shows(view, 'Suspended since')
    await does('Resume', {})
    await view.getByRole('button', { name: 'Suspend' }).waitFor()
    await view.getByRole('link', { name: 'Audit log' }).click()
    for (const act of ['customer.credit', 'customer.suspend', 'customer.resume'])
      await view.getByRole('cell', { name: act }).waitFor()
    const account = await served.service.store.read
      .selectFrom('account')
      .select(['posted', 'suspended_at_ms'])
      .where('id', '=', 'customer-1')
      .executeTakeFirstOrThrow()
    expect(account.suspended_at_ms).toBeNull()
    expect(complaints).toEqual([])
  }, 60_000)

  test('says of a stuck payment what to do, and of an act what is wrong with it', async () => {
    await aMonth(served)
    const { view } = await visit()
    await view.getByRole('link', { name: /what to do/ }).click()
    await shows(view, 'ledger audit --chain')
    await view.getByRole('link', { name: 'Customers', exact: true }).click()
    await view.getByRole('link', { name: 'Harbour Studio' }).click()
    await view.getByRole('button', { name: 'Refund a request' }).click()
    const dialog = view.getByRole('dialog')
    await dialog.getByLabel('Request').fill('no such request')
    await dialog.getByLabel('Reason').fill('Asked for it')
    await dialog.getByRole('button', { name: 'Refund a request' }).click()
    await expect.poll(() => dialog.getByRole('alert').innerText()).toMatch(/no charge/i)
    await view.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  }, 60_000)

  test('goes from an entry to its request: cost, engine, receipt, refund', async () => {
    const key = await served.service.key(5)
    const chat = { model: 'demo-chat', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await served.service.post('/chat/completions', chat, key)).status).toBe(200)
    const { view, complaints } = await visit()
    await view.getByRole('table', { name: 'Times by model' }).getByRole('cell', { name: 'demo-chat' }).waitFor()
    await view.getByRole('table', { name: 'Times by customer' }).getByRole('link').waitFor()
    await view.getByRole('link', { name: 'Ledger', exact: true }).click()
    await view.getByRole('table', { name: 'Entries' }).locator('tbody a[href^="/request"]').first().click()
    await view.getByRole('heading', { level: 1, name: 'Request' }).waitFor()
    await view.getByRole('table', { name: 'How the request went' }).getByRole('cell', { name: '200' }).waitFor()
    await view
      .getByRole('table', { name: 'Entries for the request' })
      .getByRole('cell', { name: 'CHARGE' })
      .first()
      .waitFor()
    await view.getByRole('button', { name: 'Show the receipt' }).click()
    await view.getByRole('button', { name: 'Copy the receipt of the charge' }).waitFor()
    await view.getByRole('button', { name: 'Refund' }).click()
    const dialog = view.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('It was wrong')
    await dialog.getByRole('button', { name: 'Refund' }).click()
    await said(view, /was returned for request/)
    await view
      .getByRole('table', { name: 'Entries for the request' })
      .getByRole('cell', { name: 'REFUND' })
      .first()
      .waitFor()
    await expect.poll(() => view.getByRole('button', { name: 'Refund' }).count(), { timeout: 30_000 }).toBe(0)
    await view.locator('main a[href^="/customer"]').first().click()
    await view.getByRole('table', { name: 'Latest entries' }).locator('a[href^="/request"]').first().waitFor()
    expect(complaints).toEqual([])
  }, 60_000)

  test('shows the role read no acts', async () => {
    await aMonth(served)
    const { view, open } = await visit('read')
    await open('/customer?id=customer-0')
    await shows(view, 'Ledger entries')
    for (const name of ['Credit', 'Suspend', 'Edit details', 'Refund a request'])
      expect(await view.getByRole('button', { name }).count()).toBe(0)
  }, 60_000)

  test('O8: words of customers are texts: in a name, an e-mail, a note, a reason, a model', async () => {
    await aMonth(served)
    const atMs = Date.now()
    await served.commit(
      { op: 'customer', account: 'customer-0', set: { name: markup, email: markup, note: markup }, atMs },
      { op: 'suspend', account: 'customer-0', reason: markup, atMs },
      { op: 'limit', account: 'customer-0', key: null, model: markup, tier: markup, type: 'RPM', atMs },
    )
    const { view, asked, complaints, open } = await visit()
    for (const path of [
      '/',
      '/customers',
      '/customer?id=customer-0',
      '/ledger?customer=customer-0',
      '/limits',
      `/customers?search=${encodeURIComponent(markup)}`,
    ]) {
      await open(path)
      await shows(view, 'evil.example').catch(() => {
        throw new Error(`${path} does not show the text.`)
      })
      expect(await view.title()).toMatch(/farebox console$/)
      expect(await view.locator('#page script, #page img').count()).toBe(0)
    }
    expect(asked.filter(url => new URL(url).host === 'evil.example')).toEqual([])
    expect(complaints).toEqual([])
  }, 60_000)

  test('works by the keyboard: pages, a filter, a dialog and back', async () => {
    await aMonth(served)
    const { view } = await visit()
    const focused = () => view.evaluate('document.activeElement.textContent')
    const tabTo = async (name: string) => {
      for (let n = 0; n < 60 && (await focused()) !== name; n++) await view.keyboard.press('Tab')
      expect(await focused()).toBe(name)
    }
    await tabTo('Customers')
    await view.keyboard.press('Enter')
    await view.getByRole('heading', { level: 1, name: 'Customers' }).waitFor()
    expect(await focused()).toBe('Customers')
    await shows(view, 'Harbour Studio')
    await tabTo('Harbour Studio')
    await view.keyboard.press('Enter')
    await tabTo('Suspend')
    await view.keyboard.press('Enter')
    await view.getByRole('dialog').waitFor()
    await view.keyboard.press('Escape')
    await view.locator('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Suspend')
    await view.goBack()
    await view.getByRole('heading', { level: 1, name: 'Customers' }).waitFor()
  }, 60_000)

  test('another tab shares the session; signing out ends both, and a used link says what to do', async () => {
    const { view, origin } = await visit()
    const other = await view.context().newPage()
    await other.goto(`${origin}/customers`)
    await other.getByRole('heading', { level: 1, name: 'Customers' }).waitFor()
    await other.getByText('ada (owner)').waitFor()
    await view.getByRole('button', { name: 'Sign out' }).click()
    await expect.poll(() => view.getByRole('alert').first().innerText()).toMatch(/farebox console/)
    await other.reload()
    await expect.poll(() => other.getByRole('alert').first().innerText()).toMatch(/not signed in/)
    const link = await served.link()
    const fresh = await (await browser().newContext()).newPage()
    closing.push(() => fresh.context().close())
    await fresh.goto(link)
    await fresh.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(fresh.url()).not.toContain(new URL(link).hash)
    const late = await (await browser().newContext()).newPage()
    closing.push(() => late.context().close())
    await late.goto(link)
    await expect.poll(() => late.getByRole('alert').innerText()).toMatch(/already used.*farebox console/)
  }, 60_000)

  test('O6: another site on this machine cannot frame it, read it or act on it', async () => {
    await aMonth(served)
    const { view, origin } = await visit()
    const site = await openHostileSite(view, { origin, path: '/api/me' })
    closing.push(site.close)
    await site.post('/api/operator/customer.suspend', { customer: 'customer-0', reason: 'x' })
    const { suspended_at_ms: since } = await served.service.store.read
      .selectFrom('account')
      .select('suspended_at_ms')
      .where('id', '=', 'customer-0')
      .executeTakeFirstOrThrow()
    expect(since).toBeNull()
    expect(people).toHaveLength(5)
  }, 60_000)
})
