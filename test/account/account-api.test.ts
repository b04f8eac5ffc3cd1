import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { accountRoutes } from '#account/account-routes.ts'
import { microUsd, parseUsd } from '#contract/money.ts'
import { hourMs } from '#contract/time.ts'
import { callOperator } from '#operator/queries/call-operator.ts'
import type {
  BalanceView,
  InvoiceMonth,
  InvoiceView,
  KeyRow,
  LimitsView,
  NewKey,
  RequestRow,
  RequestView,
  SpendView,
  Sums,
} from '#pages/account/wire.ts'
import type { ListPage } from '#pages/kit/wire.ts'
import { committer, type Used, useFor } from './account-use.ts'
import { fromItself, type OpenedAccount, openAccount, type SignedIn } from './opened-account.ts'

interface Customer {
  account: string
  admin: { session: SignedIn; keyId: string; key: string }
  plain: { session: SignedIn; keyId: string; key: string }
  used: Used[]
}

let opened: OpenedAccount
let mine: Customer
let theirs: Customer

async function newCustomer(name: string): Promise<Customer> {
  const first = await opened.newKey({ label: `${name} admin` })
  const second = await opened.newKey({ account: first.account, role: 'INFERENCE', label: `${name} plain` })
  const used = await useFor(opened.service, {
    account: first.account,
    keys: [first.keyId, second.keyId, second.keyId],
    name,
  })
  return {
    ...{ account: first.account, used },
    admin: { session: await opened.signIn(first.key), ...first },
    plain: { session: await opened.signIn(second.key), ...second },
  }
}

beforeEach(async () => {
  opened = await openAccount({ settings: { publicUrl: 'http://127.0.0.1:8402' } })
  mine = await newCustomer('mine')
  theirs = await newCustomer('theirs')
}, 30_000)
afterEach(() => opened.close())

const asked = async <Answer>(name: string, body: object, { session }: { session: SignedIn }): Promise<Answer> => {
  const response = await opened.act(name, body, session)
  if (response.status !== 200) throw new Error(`${name}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Answer
}
const refused = async (name: string, body: object, { session }: { session: SignedIn }) => {
  const response = await opened.act(name, body, session)
  return { status: response.status, text: await response.text() }
}
const sumOf = (used: readonly Used[]): bigint => used.reduce((sum, { chargedMicroUsd }) => sum + chargedMicroUsd, 0n)
const total = (rows: readonly Sums[], of: keyof Omit<Sums, 'requests'>): bigint =>
  rows.reduce((sum, row) => sum + BigInt(row[of]), 0n)
const micro = (usd: string | undefined): bigint => parseUsd(usd ?? '') ?? -1n

/** Who may ask for what, as an operator of a service would write it down. */
const mayAsk: Record<string, 'every key' | 'ADMIN key'> = {
  ...Object.fromEntries(
    [
      ...['GET /account/api/me', 'POST /account/api/sign-out', 'POST /account/api/sign-out-all'],
      ...['balance', 'spend', 'requests', 'request', 'limits'].map(name => `POST /account/api/${name}`),
    ].map(route => [route, 'every key']),
  ),
  ...Object.fromEntries(
    ['keys', 'keys/create', 'keys/change', 'keys/revoke', 'invoices', 'invoice'].map(name => [
      `POST /account/api/${name}`,
      'ADMIN key',
    ]),
  ),
}

describe('C11: each role sees its own data only', () => {
  test('every operation has its row here', () => {
    expect(
      Object.keys(accountRoutes)
        .filter(name => !name.includes('wallet'))
        .sort(),
    ).toEqual(Object.keys(mayAsk).sort())
  })

  test.each(Object.entries(mayAsk))('C11: %s is for %s', async (route, who) => {
    const [method = '', path = ''] = route.split(' ')
    const init = method === 'GET' ? { method } : { method, body: '{}' }
    const status = async (headers: Record<string, string>) =>
      (await opened.ask(path, { ...init, headers: { 'content-type': 'application/json', ...headers } })).status
    expect(await status(fromItself)).toBe(401)
    const inference = await status(opened.headersOf(mine.plain.session))
    expect([401, 403].includes(inference)).toBe(who === 'ADMIN key')
    expect([401, 403]).not.toContain(await status(opened.headersOf(mine.admin.session)))
  })

  test('C11: an INFERENCE key sees its own calls, and neither balance nor calls of its account', async () => {
    const own = mine.used.filter(({ key }) => key === mine.plain.keyId)
    const list = await asked<ListPage<RequestRow>>('requests', {}, mine.plain)
    expect(list.rows.map(({ request }) => request).sort()).toEqual(own.map(({ request }) => request).sort())
    const spend = await asked<SpendView>('spend', { days: 30 }, mine.plain)
    expect([BigInt(spend.totals.charged), spend.totals.requests, spend.totals.toppedUp]).toEqual([
      sumOf(own),
      own.length,
      '0',
    ])
    const atMs = opened.service.clock.now()
    const lease = { owner: 'test', untilMs: atMs + hourMs }
    const hold = { op: 'hold' as const, account: mine.account, amount: microUsd(7), lease, atMs }
    await committer(opened.service)({ ...hold, hold: 'of the wallet' })
    const balance = await asked<BalanceView>('balance', {}, mine.plain)
    expect([balance.account, balance.holds, balance.openHolds]).toEqual([null, [], 0])
    expect((await asked<BalanceView>('balance', {}, mine.admin)).holds).toMatchObject([{ request: 'of the wallet' }])
    const unknown = await refused('request', { request: 'no such request' }, mine.plain)
    expect(unknown.status).toBe(404)
    for (const request of [mine.used[0]?.request ?? '', 'of the wallet'])
      expect(await refused('request', { request }, mine.plain)).toEqual(unknown)
    expect((await asked<ListPage<RequestRow>>('requests', { key: mine.admin.keyId }, mine.plain)).rows).toEqual([])
  })

  test('C11: ids of another customer find nothing, with the answer of one that does not exist', async () => {
    const [request = ''] = theirs.used.map(each => each.request)
    for (const role of [mine.admin, mine.plain]) {
      expect(await refused('request', { request }, role)).toEqual(await refused('request', { request: 'none' }, role))
      for (const key of [theirs.admin.keyId, theirs.plain.keyId])
        expect((await asked<ListPage<RequestRow>>('requests', { key }, role)).rows).toEqual([])
    }
    const unknown = await refused('keys/revoke', { id: 'no-such-key' }, mine.admin)
    expect(unknown.status).toBe(404)
    expect(await refused('keys/revoke', { id: theirs.admin.keyId }, mine.admin)).toEqual(unknown)
    expect(await asked<ListPage<KeyRow>>('keys', {}, theirs.admin)).toMatchObject({ total: 2 })
    const everything = JSON.stringify(
      await Promise.all(
        (
          [
            ['requests', {}],
            ['keys', {}],
            ['keys', { state: 'ended' }],
            ['spend', { days: 90 }],
            ['balance', {}],
            ['limits', {}],
            ['invoices', {}],
            ['invoice', { month: '2026-11' }],
          ] as const
        ).map(([name, body]) => asked(name, body, mine.admin)),
      ),
    )
    for (const secret of [theirs.account, theirs.admin.keyId, 'theirs']) expect(everything).not.toContain(secret)
  })

  test.each([
    ['requests', { account: 'x' }],
    ['requests', { scope: { account: 'x', key: null } }],
    ['requests', { filter: {} }],
    ['spend', { days: 30, customer: 'x' }],
    ['spend', { days: 31 }],
    ['spend', { days: '30' }],
    ['spend', {}],
    ['requests', { model: '' }],
    ['requests', { model: 'a\0b' }],
    ['requests', { model: '\ud800' }],
    ['requests', { from: '2026-02-31' }],
    ['requests', { from: { $gt: '' } }],
    ['request', {}],
    ['request', { request: ['a', 'b'] }],
    ['invoice', { month: '2026-13' }],
    ['invoice', { month: '2026-11', account: 'x' }],
    ['keys', { state: 'all' }],
    ['keys', { after: "' OR 1=1 --" }],
    ['keys/create', { apiKeyType: 'OWNER', description: '' }],
  ])('C11: %s refuses %j', async (name, body) => {
    const { status, text } = await refused(name, body, mine.admin)
    expect([status, Object.keys(JSON.parse(text))]).toEqual([400, ['happened', 'next']])
  })

  test('C11: odd filters find nothing, and a page after an unknown place is the first or none', async () => {
    for (const body of [{ model: "'; DROP TABLE entry" }, { model: '%' }, { key: '__proto__' }, { to: '2000-01-01' }])
      expect((await asked<ListPage<RequestRow>>('requests', body, mine.admin)).rows).toEqual([])
    await asked('requests', { after: 'zzz' }, mine.admin)
    expect((await refused('invoice', { month: '2026-12' }, mine.admin)).status).toBe(404)
    expect((await refused('invoice', { month: '2025-11' }, mine.admin)).status).toBe(404)
  })
})

describe('figures', () => {
  const operator = (input: Parameters<typeof callOperator<'usage'>>[2]) => {
    const ledger = { state: async () => ({ state: 'open' as const, reason: '' }) }
    return callOperator({ store: opened.store, clock: opened.service.clock, ledger }, 'usage', input, 'test')
  }

  test('the page, the console and `farebox usage` agree to the micro-USD, by day and by model', async () => {
    const spend = await asked<SpendView>('spend', { days: 30 }, mine.admin)
    const [byDay, byModel] = [
      await operator({ by: ['day'], customer: mine.account }),
      await operator({ by: ['model'], customer: mine.account }),
    ]
    expect(BigInt(spend.totals.charged)).toBe(sumOf(mine.used))
    expect([micro(byDay.totals.chargedUsd), micro(byDay.totals.revenueUsd), byDay.totals.requests]).toEqual([
      ...[BigInt(spend.totals.charged), BigInt(spend.totals.paid), spend.totals.requests],
    ])
    for (const row of byDay.rows) {
      const day = spend.byDay.find(each => each.day === row.day)
      expect([row.day, day?.charged, day?.paid]).toEqual([
        row.day,
        `${micro(row.chargedUsd)}`,
        `${micro(row.revenueUsd)}`,
      ])
    }
    for (const row of byModel.rows.filter(({ model }) => model !== '')) {
      const model = spend.byModel.find(each => each.model === row.model)
      expect([row.model, model?.charged]).toEqual([row.model, `${micro(row.chargedUsd)}`])
    }
    expect(total(spend.byDay, 'charged')).toBe(sumOf(mine.used))
    const colours = spend.byDay.flatMap(({ models }) => models).reduce((sum, amount) => sum + BigInt(amount), 0n)
    expect(colours).toBe(sumOf(mine.used))
  })

  test('the list of requests adds up to the same, page by page, each request once', async () => {
    await useFor(opened.service, { account: mine.account, keys: [null], name: 'more', days: 60, models: ['demo-chat'] })
    const rows: RequestRow[] = []
    let after: string | null | undefined
    while (after !== null) {
      const page: ListPage<RequestRow> = await asked('requests', after === undefined ? {} : { after }, mine.admin)
      expect([page.total, page.rows.length <= 50]).toEqual([80, true])
      rows.push(...page.rows)
      after = page.next
    }
    expect(new Set(rows.map(({ request }) => request)).size).toBe(80)
    const { totals } = await asked<SpendView>('spend', { days: 90 }, mine.admin)
    for (const kind of ['charged', 'refunded', 'paid'] as const)
      expect([kind, rows.reduce((sum, row) => sum + BigInt(row[kind]), 0n)]).toEqual([kind, BigInt(totals[kind])])
    const narrowed = await asked<ListPage<RequestRow>>(
      'requests',
      { model: 'demo-image', from: '2026-11-20', to: '2026-11-21' },
      mine.admin,
    )
    expect([narrowed.rows.map(({ request }) => request), narrowed.total]).toEqual([['mine-0-1', 'mine-1-1'], 2])
    const ofKey = await asked<ListPage<RequestRow>>('requests', { key: mine.plain.keyId }, mine.admin)
    expect(ofKey.rows).toHaveLength(mine.used.filter(({ key }) => key === mine.plain.keyId).length)
  })

  test('an invoice adds up: lines, totals, and the balance before and after', async () => {
    const { rows, total: months } = await asked<ListPage<InvoiceMonth>>('invoices', {}, mine.admin)
    expect([rows.map(({ month, isFinal }) => [month, isFinal]), months]).toEqual([[['2026-11', false]], 1])
    const invoice = await asked<InvoiceView>('invoice', { month: '2026-11' }, mine.admin)
    expect(rows[0]).toMatchObject({ charged: invoice.totals.charged, paid: invoice.totals.paid })
    for (const kind of ['charged', 'refunded', 'paid'] as const)
      expect([kind, total(invoice.lines, kind)]).toEqual([kind, BigInt(invoice.totals[kind])])
    const { totals, balanceBefore, balanceAfter } = invoice
    const added = BigInt(totals.toppedUp) + BigInt(totals.granted) - BigInt(totals.paid)
    expect(BigInt(balanceBefore) + added).toBe(BigInt(balanceAfter))
    expect((await asked<BalanceView>('balance', {}, mine.admin)).account?.posted).toBe(balanceAfter)
    expect(invoice.seller).toEqual(['http://127.0.0.1:8402'])
  })

  test('a request has its lines, its refund and signed receipts', async () => {
    const view = await asked<RequestView>('request', { request: mine.used[0]?.request ?? '' }, mine.admin)
    expect(view).toMatchObject({ charged: `${mine.used[0]?.chargedMicroUsd}`, paid: '0', refundReason: 'It was wrong' })
    const claims = JSON.parse(Buffer.from(view.receipt?.charge.split('.')[1] ?? '', 'base64url').toString())
    expect(claims).toMatchObject({ request: view.request, amount_micro_usd: view.charged })
    expect(view.receipt?.refund).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
  })
})

describe('keys', () => {
  test('one is created with a budget, shown once, calls within it, and ends when it is revoked', async () => {
    const order = {
      apiKeyType: 'INFERENCE',
      description: 'Robot',
      consumptionLimit: { usd: 0.5 },
      limitPeriod: 'MONTH',
    }
    const { id, secret } = await asked<NewKey>('keys/create', order, mine.admin)
    const chat = { model: 'demo-chat', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await opened.service.post('/chat/completions', chat, secret)).status).toBe(200)
    const listed = await asked<ListPage<KeyRow>>('keys', {}, mine.admin)
    expect(JSON.stringify(listed)).not.toContain(secret)
    const row = listed.rows.find(each => each.id === id)
    expect(row).toMatchObject({ label: 'Robot', state: 'active', budget: { period: 'month', usd: '500000' } })
    expect(BigInt(row?.budget?.usedUsd ?? 0)).toBeGreaterThan(0n)
    expect(row?.paid).toBe(row?.budget?.usedUsd)
    await asked('keys/revoke', { id }, mine.admin)
    expect((await opened.service.post('/chat/completions', chat, secret)).status).toBe(401)
    expect((await asked<ListPage<KeyRow>>('keys', {}, mine.admin)).rows.map(each => each.id)).not.toContain(id)
    expect((await asked<ListPage<KeyRow>>('keys', { state: 'ended' }, mine.admin)).rows).toMatchObject([
      { id, state: 'revoked' },
    ])
  })

  test('the budget, the end and the label of one are changed, and only those that are named', async () => {
    const order = {
      apiKeyType: 'INFERENCE',
      description: 'Robot',
      consumptionLimit: { usd: 0.5 },
      limitPeriod: 'MONTH',
    }
    const { id, secret } = await asked<NewKey>('keys/create', order, mine.admin)
    const row = async () => (await asked<ListPage<KeyRow>>('keys', {}, mine.admin)).rows.find(each => each.id === id)
    await asked('keys/change', { id, consumptionLimit: { usd: 2.25 } }, mine.admin)
    expect(await row()).toMatchObject({
      label: 'Robot',
      budget: { period: 'month', usd: '2250000' },
      expiresAtMs: null,
    })
    await asked('keys/change', { id, description: 'Lift', expiresAt: '2027-03-01' }, mine.admin)
    expect(await row()).toMatchObject({
      ...{ label: 'Lift', budget: { period: 'month', usd: '2250000' } },
      expiresAtMs: Date.parse('2027-03-01'),
    })
    await asked('keys/change', { id, consumptionLimit: { usd: null }, expiresAt: null }, mine.admin)
    expect(await row()).toMatchObject({ budget: null, expiresAtMs: null })
    const chat = { model: 'demo-chat', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await opened.service.post('/chat/completions', chat, secret)).status).toBe(200)
  })

  test('C11: neither another customer’s key, nor the role of a key is changed, and no key ends in the past', async () => {
    const { id } = await asked<NewKey>('keys/create', { apiKeyType: 'INFERENCE', description: '' }, mine.admin)
    const order = { id, consumptionLimit: { usd: 5 } }
    expect((await refused('keys/change', order, theirs.admin)).status).toBe(404)
    expect((await refused('keys/change', { id, expiresAt: '2020-01-01' }, mine.admin)).status).toBe(400)
    await asked('keys/change', { id, role: 'ADMIN', apiKeyType: 'ADMIN' }, mine.admin)
    const { rows } = await asked<ListPage<KeyRow>>('keys', {}, mine.admin)
    expect(rows.find(each => each.id === id)).toMatchObject({ role: 'INFERENCE', budget: null, expiresAtMs: null })
  })

  test('C13: the page and the API together create 20 keys a minute', async () => {
    const order = { apiKeyType: 'INFERENCE', description: '' }
    const viaApi = () => opened.service.post('/api_keys', order, mine.admin.key)
    for (let made = 0; made < 10; made++) {
      await asked('keys/create', order, mine.admin)
      expect((await viaApi()).status).toBe(200)
    }
    const answer = await opened.act('keys/create', order, mine.admin.session)
    expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect((await viaApi()).status).toBe(429)
    opened.service.clock.pass(60_000)
    await asked('keys/create', order, mine.admin)
  })

  test('C12: a suspended customer creates no key', async () => {
    const atMs = opened.service.clock.now()
    await committer(opened.service)({ op: 'suspend', account: mine.account, reason: 'A test', atMs })
    const { status } = await refused('keys/create', { apiKeyType: 'ADMIN', description: '' }, mine.admin)
    expect(status).toBe(403)
  })
})

test('the limits are the API’s, and a refused request is listed for its own key', async () => {
  const atMs = opened.service.clock.now()
  const hit = { op: 'limit' as const, account: mine.account, model: 'demo-chat', tier: 'default', type: 'RPM' as const }
  await committer(opened.service)({ ...hit, key: mine.plain.keyId, atMs }, { ...hit, key: mine.admin.keyId, atMs })
  const view = await asked<LimitsView>('limits', {}, mine.plain)
  expect(view.hits).toMatchObject([{ model: 'demo-chat', type: 'RPM', key: 'mine plain' }])
  expect((await asked<LimitsView>('limits', {}, mine.admin)).hits).toHaveLength(2)
  const headers = { authorization: `Bearer ${mine.plain.key}` }
  const api = await (await opened.service.request('/api/v1/api_keys/rate_limits', { headers })).json()
  const { data } = api as { data: { rateLimits: { apiModelId: string }[] } }
  expect(view.rows.map(({ model }) => model)).toEqual(data.rateLimits.map(({ apiModelId }) => apiModelId))
})
