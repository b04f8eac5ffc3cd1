import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BillingBalance, type UsageRow } from '#contract/operations/billing.ts'
import { openWalletAccount, walletAccountId } from '#ledger/accounts/customers.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { AccountFixture, OpenProcesses, Owner, Processes } from './account-fixture.ts'

const minute = 60_000
const day = 24 * 60 * minute

/** A day's staking credit of a wallet: one chat of 320 micro-USD, and 180 of the next. */
const stakedMicroUsd = 500n

interface Page {
  data: UsageRow[]
  pagination: { limit: number; page: number; total: number; totalPages: number }
}

interface HistoryPage {
  data: UsageRow[]
  nextCursor: string | null
}

const sumOf = (rows: readonly UsageRow[], currency: string): number =>
  Math.round(rows.filter(row => row.currency === currency).reduce((sum, row) => sum + row.amount, 0) * 1e6) || 0

const routes = ['/billing/balance', '/billing/usage', '/billing/usage-history', '/billing/usage-analytics']

const wrong: [query: string, names: string][] = [
  ['/billing/usage?currency=EUR', 'USD, VCU, DIEM, BUNDLED_CREDITS'],
  ['/billing/usage?limit=501', 'limit'],
  ['/billing/usage?limit=0', 'limit'],
  ['/billing/usage?page=0', 'page'],
  ['/billing/usage?page=1e99', 'page'],
  ['/billing/usage?sortOrder=up', 'asc, desc'],
  ['/billing/usage?startDate=yesterday', 'startDate'],
  ['/billing/usage-history?pageSize=9', 'pageSize'],
  ['/billing/usage-history?pageSize=1001', 'pageSize'],
  ['/billing/usage-history?cursor=AAAA', 'cursor'],
  ['/billing/usage-history?endTimestamp=2026', 'endTimestamp'],
  ['/billing/usage-analytics?lookback=91d', 'At most 90d'],
  ['/billing/usage-analytics?lookback=0d', 'lookback'],
  ['/billing/usage-analytics?startDate=2026-01-01', 'endDate'],
  ['/billing/usage-analytics?endDate=2026-01-01', 'startDate'],
  ['/billing/usage-analytics?startDate=2026-02-31&endDate=2026-03-01', 'startDate'],
  ['/billing/usage-analytics?startDate=2026-03-02&endDate=2026-03-01', 'before startDate'],
  ['/billing/usage-analytics?startDate=2026-01-01&endDate=2026-04-01', 'At most 90 days'],
]

/** What holds on either store for what an account is told of its money. */
export function billingRules(open: OpenProcesses): void {
  let processes: Processes
  let fixture: AccountFixture
  beforeAll(async () => {
    processes = await open({ stakes: { stakeOf: async () => stakedMicroUsd } })
    fixture = processes.first
  }, 60_000)
  afterAll(() => processes.close())

  const get = async (path: string, key: string, headers = {}) => {
    const answer = await fixture.request('GET', path, { key, headers })
    expect(answer.status).toBe(200)
    return answer
  }
  const usage = async (owner: Owner, query = '') =>
    (await (await get(`/billing/usage${query}`, owner.admin)).json()) as Page
  const history = async (owner: Owner, query = '') =>
    (await (await get(`/billing/usage-history${query}`, owner.admin)).json()) as HistoryPage
  const chats = async (key: string, count: number) => {
    for (let sent = 0; sent < count; sent++) {
      fixture.clock.pass(minute)
      expect((await fixture.chat(key)).status).toBe(200)
    }
  }
  let wallets = 0
  const staker = async (usd: string): Promise<Owner> => {
    const wallet = `0x${(++wallets).toString(16).padStart(40, '0')}`
    const atMs = fixture.clock.now()
    await fixture.chats.service.store.commit([{ id: uuidV7(atMs), ops: openWalletAccount(wallet, atMs) }])
    const account = walletAccountId(wallet)
    const made = await fixture.order({ usd, label: 'prod', account })
    const { key: admin } = await fixture.order({ usd: '0', label: '', account, role: 'ADMIN' })
    return { account, admin, key: made.key, keyId: made.keyId }
  }

  test.each(routes)('%s wants an ADMIN key', async path => {
    const { key } = await fixture.owner()
    const answer = await fixture.request('GET', path, { key })
    expect([answer.status, await answer.json()]).toEqual([401, { error: 'Admin API key required' }])
    // The key is valid, so its request is authenticated (§9).
    expect(answer.headers.has('x-service-balance-usd')).toBe(true)
    expect((await fixture.request('GET', path)).status).toBe(401)
  })

  test.each(wrong)('%s is a 400 that names %s', async (path, names) => {
    const { admin: key } = await fixture.owner()
    const answer = await fixture.request('GET', path, { key })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(names)])
  })

  test('the balance says what the next call is paid with', async () => {
    const balanceOf = async ({ admin }: Owner) =>
      BillingBalance.parse(await (await get('/billing/balance', admin)).json())
    expect(await balanceOf(await fixture.owner(2.5))).toEqual({
      canConsume: true,
      consumptionCurrency: 'USD',
      balances: { diem: 0, usd: 2.5 },
      diemEpochAllocation: 0,
    })
    expect(await balanceOf(await fixture.owner(0))).toMatchObject({ canConsume: false, consumptionCurrency: null })
    const owner = await staker('1')
    const before = { canConsume: true, consumptionCurrency: 'DIEM', diemEpochAllocation: 0.0005 }
    expect(await balanceOf(owner)).toEqual({ ...before, balances: { diem: 0.0005, usd: 1 } })
    await chats(owner.key, 2)
    const after = { canConsume: true, consumptionCurrency: 'USD', diemEpochAllocation: 0.0005 }
    expect(await balanceOf(owner)).toEqual({ ...after, balances: { diem: 0, usd: 0.99986 } })
  })

  test('every line of a charge is a row, newest first, and its headers say which page it is', async () => {
    const owner = await fixture.owner()
    await chats(owner.key, 3)
    const answer = await get('/billing/usage?limit=4', owner.admin)
    const { data, pagination } = (await answer.json()) as Page
    expect(pagination).toEqual({ limit: 4, page: 1, total: 6, totalPages: 2 })
    const headers = ['limit', 'page', 'total', 'total-pages'].map(name => answer.headers.get(`x-pagination-${name}`))
    expect(headers).toEqual(['4', '1', '6', '2'])
    expect(data[0]).toEqual({
      timestamp: new Date(fixture.clock.now()).toISOString(),
      sku: 'scripted:chat.output',
      units: 30,
      pricePerUnitUsd: 0.00001,
      amount: 0.0003,
      currency: 'USD',
      notes: 'API Inference',
      inferenceDetails: {
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        promptTokens: null,
        completionTokens: 30,
        inferenceExecutionTime: null,
      },
    })
    const second = await usage(owner, '?limit=4&page=2')
    expect([...data, ...second.data]).toEqual((await usage(owner)).data)
    expect((await usage(owner, '?sortOrder=asc')).data).toEqual((await usage(owner)).data.toReversed())
    expect((await usage(owner, '?limit=4&page=3')).data).toEqual([])
    const from = new Date(fixture.clock.now() - minute).toISOString()
    expect((await usage(owner, `?startDate=${from}`)).pagination.total).toBe(4)
    expect((await usage(owner, `?startDate=${from}&endDate=${from}`)).pagination.total).toBe(2)
    expect((await usage(await fixture.owner())).data).toEqual([])
  })

  test('rows add up to what was paid in each currency, refunds taken off', async () => {
    const owner = await staker('1')
    await chats(owner.key, 2)
    const { data } = await usage(owner)
    expect([sumOf(data, 'USD'), sumOf(data, 'DIEM')]).toEqual([140, 500])
    for (const currency of ['USD', 'DIEM'])
      expect((await usage(owner, `?currency=${currency}`)).data).toEqual(data.filter(row => row.currency === currency))
    expect((await usage(owner, '?currency=DIEM')).pagination.total).toBe(2)
    expect((await usage(owner, '?currency=VCU')).data).toEqual([])
    const request = data[0]?.inferenceDetails?.requestId ?? ''
    const atMs = fixture.clock.now()
    await fixture.chats.service.store.commit([
      { id: uuidV7(atMs), ops: [{ op: 'refund', request, reason: 'it failed', atMs }] },
    ])
    const after = (await usage(owner)).data
    expect([sumOf(after, 'USD'), sumOf(after, 'DIEM')]).toEqual([0, 320])
    expect(after.map(({ notes }) => notes)).toContain('Refund: it failed')
  })

  test('as CSV it is a file with exact amounts', async () => {
    const owner = await fixture.owner()
    await chats(owner.key, 1)
    const [, { inferenceDetails } = { inferenceDetails: null }] = (await usage(owner)).data
    const answer = await get('/billing/usage?limit=1&page=2', owner.admin, { accept: 'text/csv' })
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename=billing_usage.csv')
    expect(answer.headers.get('x-pagination-total')).toBe('2')
    const row = `scripted:chat.input,20,0.000001000000,0.000020,USD,API Inference,${inferenceDetails?.requestId},20,`
    expect((await answer.text()).split('\r\n')).toEqual([
      'timestamp,sku,units,pricePerUnitUsd,amount,currency,notes,requestId,promptTokens,completionTokens',
      `${new Date(fixture.clock.now()).toISOString()},${row}`,
      '',
    ])
    for (const accept of ['application/json, text/csv', '*/*', 'text/html'])
      expect((await get('/billing/usage', owner.admin, { accept })).headers.get('content-type')).toMatch(/json/)
  })

  test('the history goes from cursor to cursor past each row once, while new ones come', async () => {
    const owner = await staker('1')
    await chats(owner.key, 12)
    const all = (await usage(owner)).data
    expect(all).toHaveLength(28)
    const seen: UsageRow[] = []
    let cursor: string | null = null
    do {
      const page: HistoryPage = await history(owner, `?pageSize=10${cursor === null ? '' : `&cursor=${cursor}`}`)
      seen.push(...page.data)
      cursor = page.nextCursor
      await chats(owner.key, 1)
    } while (cursor !== null)
    expect(seen).toEqual(all)
    const dated = `?endTimestamp=${all[0]?.timestamp}&startTimestamp=${all.at(-1)?.timestamp}`
    expect(await history(owner, dated)).toEqual({ data: all, nextCursor: null })
    expect((await history(owner, `${dated}&currency=DIEM`)).data).toEqual(
      all.filter(({ currency }) => currency === 'DIEM'),
    )
    const csv = await get('/billing/usage-history?pageSize=10', owner.admin, { accept: 'text/csv' })
    expect((await csv.text()).split('\r\n')).toHaveLength(12)
    const next = csv.headers.get('x-next-cursor')
    expect((await history(owner, `?pageSize=10&cursor=${next}`)).data).toEqual((await usage(owner)).data.slice(10, 20))
    expect((await history(await fixture.owner(), `?cursor=${next}`)).data).toEqual([])
  })

  describe('analytics', () => analyticsRules(() => ({ fixture, staker, chats, get })))
}

interface Helpers {
  fixture: AccountFixture
  staker(usd: string): Promise<Owner>
  chats(key: string, count: number): Promise<void>
  get(path: string, key: string): Promise<Response>
}

function analyticsRules(helpers: () => Helpers): void {
  const analytics = async ({ admin }: Owner, query = '') =>
    (await helpers().get(`/billing/usage-analytics${query}`, admin)).json()
  const dateOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 10)

  test('tell by day, model and key what was paid, and add up', async () => {
    const { fixture, staker, chats } = helpers()
    const owner = await staker('1')
    const { key: other, keyId } = await fixture.order({ usd: '0', label: 'prod', account: owner.account })
    await chats(owner.key, 2)
    fixture.clock.pass(2 * day)
    await chats(other, 3)
    const todayMs = fixture.clock.now() - (fixture.clock.now() % day)
    // On the first day 500 of 640 are staking credit, on the third 500 of 960.
    expect(await analytics(owner, '?lookback=3d')).toEqual({
      lookback: '3d',
      byDate: [
        { date: dateOf(todayMs - 2 * day), USD: 0.00014, DIEM: 0.0005 },
        { date: dateOf(todayMs - day), USD: 0, DIEM: 0 },
        { date: dateOf(todayMs), USD: 0.00046, DIEM: 0.0005 },
      ],
      byModel: [
        {
          modelName: 'Demo chat',
          unitType: 'tokens',
          modelType: 'LLM',
          totalUsd: 0.0006,
          totalDiem: 0.001,
          totalUnits: 250,
          breakdown: [
            { type: 'Input', usd: 0.000037, diem: 0.000062, units: 100 },
            { type: 'Output', usd: 0.000563, diem: 0.000938, units: 150 },
          ],
        },
      ],
      byModelDaily: [
        { date: todayMs - 2 * day, 'Demo chat': 0.00064 },
        { date: todayMs - day, 'Demo chat': 0 },
        { date: todayMs, 'Demo chat': 0.00096 },
      ],
      topModels: ['Demo chat'],
      byKey: [
        { apiKeyId: keyId, description: 'prod', totalUsd: 0.00046, totalDiem: 0.0005, totalUnits: 150 },
        {
          apiKeyId: owner.keyId,
          description: expect.stringMatching(/^prod \(fb_\S{6}\)$/),
          totalUsd: 0.00014,
          totalDiem: 0.0005,
          totalUnits: 100,
        },
      ],
      byKeyDaily: expect.arrayContaining([expect.objectContaining({ date: todayMs, prod: 0.00096 })]),
      topKeyNames: ['prod', expect.stringMatching(/^prod \(fb_\S{6}\)$/)],
    })
    const [date] = [dateOf(todayMs - 2 * day)]
    expect(await analytics(owner, `?startDate=${date}&endDate=${date}`)).toMatchObject({
      lookback: `${date} to ${date}`,
      byDate: [{ date, USD: 0.00014, DIEM: 0.0005 }],
    })
  })

  test('are looked up once in ten minutes, for each account its own', async () => {
    const { fixture, chats } = helpers()
    const [owner, stranger] = [await fixture.owner(), await fixture.owner()]
    fixture.clock.pass(day - (fixture.clock.now() % day))
    await chats(owner.key, 1)
    const before = await analytics(owner)
    expect(before).toMatchObject({ lookback: '7d', byKey: [{ totalUsd: 0.00032 }] })
    expect(await analytics(stranger)).toMatchObject({ byModel: [], byKey: [] })
    await chats(owner.key, 9)
    expect(await analytics(owner)).toEqual(before)
    fixture.clock.pass(minute)
    expect(await analytics(owner)).toMatchObject({ byKey: [{ totalUsd: 0.0032 }] })
  })
}
