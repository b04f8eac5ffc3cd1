import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CustomerPage, CustomerView, EntryView, Overview, RequestView } from '#pages/console/answers.ts'
import type { AuditResult, LiveFigures, Recent, SignedReceipt } from '#pages/console/wire.ts'
import type { ListPage } from '#pages/kit/wire.ts'
import { type OpenedConsole, openConsole, type SignedIn } from './opened-console.ts'

let opened: OpenedConsole
let owner: SignedIn
beforeEach(async () => {
  opened = await openConsole()
  owner = await opened.signIn()
})
afterEach(() => opened.close())

const ask = async <Answer>(name: string, body: object = {}, session = owner): Promise<Answer> => {
  const response = await opened.act(`/api/${name}`, body, session)
  expect([name, response.status]).toEqual([name, 200])
  return (await response.json()) as Answer
}

/** A customer who has bought a chat. */
async function aCustomer(usd = 5): Promise<string> {
  const key = await opened.service.key(usd)
  const chat = { model: 'demo-chat', messages: [{ role: 'user', content: 'Hello' }] }
  expect((await opened.service.post('/chat/completions', chat, key)).status).toBe(200)
  const { rows } = await ask<ListPage<CustomerView>>('operator/customers')
  return rows[0]?.customer ?? ''
}

test('figures of all pages are those of the ledger', async () => {
  const customer = await aCustomer()
  const overview = await ask<Overview>('operator/overview')
  const page = await ask<CustomerPage>('operator/customer', { customer })
  const entries = await ask<ListPage<EntryView>>('operator/entries', { customer })
  const charged = entries.rows
    .filter(({ kind }) => kind === 'CHARGE')
    .map(({ amountUsd }) => BigInt(amountUsd.replace('.', '')))
  const sum = -charged.reduce((all, each) => all + each, 0n)
  expect(sum).toBeGreaterThan(0n)
  for (const { chargedUsd } of [overview.totals, page.totals, overview.byDay.at(-1), page.byModel[0]].map(
    each => each ?? { chargedUsd: '' },
  ))
    expect(BigInt(chargedUsd.replace('.', ''))).toBe(sum)
  expect(overview.totals.requests).toBe(1)
  expect(page.customer.balanceUsd).toBe(entries.rows[0]?.balanceAfterUsd)
  const usage = await ask<{ totals: { chargedUsd: string } }>('operator/usage', { by: ['customer', 'model', 'day'] })
  expect(BigInt(usage.totals.chargedUsd.replace('.', ''))).toBe(sum)
  expect(await sumOfFile('usage', { by: ['customer', 'model', 'day'] }, 'chargedUsd')).toBe(sum)
  expect(await sumOfFile('entries', { customer, kind: 'CHARGE' }, 'amountUsd')).toBe(-sum)
  const live = await ask<LiveFigures>('live')
  expect(live).toMatchObject({ requests: 1, failed: 0, refused: 0 })
})

/** Of a column of a CSV file, in micro-USD. */
async function sumOfFile(name: string, filter: object, column: string): Promise<bigint> {
  const text = await (await opened.act(`/api/operator/${name}.csv`, filter, owner)).text()
  const [head = '', ...lines] = text.trimEnd().split('\r\n')
  const at = head.split(',').indexOf(column)
  expect([name, at >= 0, lines.length > 0]).toEqual([name, true, true])
  return lines.reduce((sum, line) => sum + BigInt((line.split(',')[at] ?? '').replace('.', '')), 0n)
}

test('one request: its entries, model, times and receipt; one that failed is not in the ledger', async () => {
  const customer = await aCustomer()
  const { rows } = await ask<ListPage<EntryView>>('operator/entries', { customer, kind: 'CHARGE' })
  const request = rows[0]?.request ?? ''
  const shown = await ask<RequestView>('operator/request', { request })
  expect(shown).toMatchObject({ request, customer, model: 'demo-chat', isRefunded: false, hold: null, job: null })
  const charged = shown.entries.reduce((sum, { amountUsd }) => sum - BigInt(amountUsd.replace('.', '')), 0n)
  expect(BigInt(shown.chargedUsd.replace('.', ''))).toBe(charged)
  const recent = await ask<Recent>('recent', { request })
  expect(recent.request).toMatchObject({ request, status: 200, model: 'demo-chat', customer })
  const receipt = await ask<SignedReceipt>('receipt', { request, customer })
  expect(receipt).toEqual({ charge: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/), refund: null })
  await ask('operator/customer.refund', { request, reason: 'It was wrong' })
  expect(await ask<RequestView>('operator/request', { request })).toMatchObject({
    isRefunded: true,
    refundedUsd: shown.chargedUsd,
  })
  expect(await ask<SignedReceipt>('receipt', { request, customer })).toMatchObject({ refund: expect.any(String) })
  const refused = await opened.service.post('/chat/completions', { model: 'none', messages: [] }, 'no key')
  const failed = refused.headers.get('cf-ray') ?? 'x'
  expect(await ask<RequestView>('operator/request', { request: failed })).toMatchObject({ customer: null, entries: [] })
  expect((await ask<Recent>('recent', { request: failed })).request).toMatchObject({ status: refused.status })
  expect((await opened.act('/api/receipt', { request: failed, customer }, owner)).status).toBe(404)
})

test('times are those of each model and customer, by name', async () => {
  const customer = await aCustomer()
  await ask('operator/customer.change', { customer, name: 'Ada' })
  const live = await ask<LiveFigures>('live')
  const times = { requests: 1, failed: 0, refused: 0, p50Ms: expect.any(Number), p95Ms: expect.any(Number) }
  expect(live.byModel).toEqual([{ model: 'demo-chat', ...times }])
  expect(live.byCustomer).toEqual([{ customer, name: 'Ada', ...times }])
  expect(live.processes).toEqual({ answered: 1, of: 1 })
})

test('an act is done once, in the name of the session, and is in the log', async () => {
  const customer = await aCustomer()
  await ask('operator/customer.suspend', { customer, reason: 'A stolen card' })
  await ask('operator/customer.credit', { customer, usd: '2.5', reason: 'An outage', id: 'one' })
  await ask('operator/customer.credit', { customer, usd: '2.5', reason: 'An outage', id: 'one' })
  const page = await ask<CustomerPage>('operator/customer', { customer })
  expect(page.customer).toMatchObject({ state: 'suspended', suspendedReason: 'A stolen card' })
  const granted = page.acts.filter(({ act }) => act === 'customer.credit')
  expect(granted).toHaveLength(1)
  expect(page.acts.map(({ actor }) => actor)).toEqual(page.acts.map(() => 'console: ada'))
  expect(page.totals.grantedUsd).toBe('7.500000')
})

test('O5: looking is for every role, helping for support, money for owners', async () => {
  const customer = await aCustomer()
  const status = async (role: 'read' | 'support' | 'owner', name: string, body: object) =>
    (await opened.act(`/api/operator/${name}`, body, await opened.signIn(role))).status
  const help = { customer, reason: 'Asked for it' }
  expect(await status('read', 'customers', {})).toBe(200)
  expect(await status('read', 'customer.suspend', help)).toBe(403)
  expect(await status('support', 'customer.suspend', help)).toBe(200)
  for (const role of ['read', 'support'] as const) {
    expect(await status(role, 'customer.credit', { ...help, usd: '5' })).toBe(403)
    expect(await status(role, 'customer.limit', { customer, plan: 'partner' })).toBe(403)
  }
  expect(await status('owner', 'customer.credit', { ...help, usd: '5' })).toBe(200)
})

test('O5: only owners choose a plan, also that of a new customer', async () => {
  const created = async (role: 'support' | 'owner', plan: unknown) =>
    (await opened.act('/api/operator/customer.create', { name: 'Bob', plan }, await opened.signIn(role))).status
  for (const plan of ['partner', 'default']) expect([plan, await created('support', plan)]).toEqual([plan, 403])
  for (const plan of [null, undefined]) expect([plan, await created('support', plan)]).toEqual([plan, 200])
  expect(await created('owner', 'partner')).toBe(200)
})

test.each([
  ['customer.credit', { usd: '-5', reason: 'x' }],
  ['customer.credit', { usd: '1e6', reason: 'x' }],
  ['customer.credit', { usd: '5' }],
  ['customer.suspend', { reason: ' ' }],
  ['customers', { sort: 'id; DROP TABLE entry' }],
  ['entries', { after: 'x' }],
  ['entries', { from: '2026-02-30' }],
])('%s with %j is refused in words, and changes nothing', async (name, body) => {
  const customer = await aCustomer()
  const whole = name.startsWith('customer.') ? { customer, ...body } : body
  const response = await opened.act(`/api/operator/${name}`, whole, owner)
  expect(response.status).toBe(409)
  expect(await response.json()).toMatchObject({ happened: expect.any(String), next: expect.any(String) })
  expect((await ask<ListPage<unknown>>('operator/acts')).rows).toEqual([])
})

test('the ledger is audited beside requests, and says what it found', async () => {
  await aCustomer()
  const audit = await ask<AuditResult>('audit')
  expect(audit).toMatchObject({ ok: true, driftMicroUsd: '0', findings: [] })
  expect(audit.counts).toContainEqual({ name: 'accounts', count: 1 })
}, 30_000)

test('entries as a file: every row once, and no text of a customer is a formula', async () => {
  const customer = await aCustomer()
  await ask('operator/customer.change', { customer, name: '=HYPERLINK("https://evil.example")' })
  const response = await opened.act('/api/operator/entries.csv', { customer }, owner)
  expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  const lines = (await response.text()).trimEnd().split('\r\n')
  const { rows } = await ask<ListPage<EntryView>>('operator/entries', { customer })
  expect(lines).toHaveLength(rows.length + 1)
  expect(lines[1]).toContain(`"'=HYPERLINK(""https://evil.example"")"`)
  expect((await opened.act('/api/operator/entries.csv', { from: 'x' }, owner)).status).toBe(400)
})
