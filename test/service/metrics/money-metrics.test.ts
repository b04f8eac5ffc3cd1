/** The money metrics match the ledger's entries of the same time, to the micro-USD. */
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createKey } from '#access/keys/api-keys.ts'
import { microUsd } from '#contract/money.ts'
import type { JobProgress, VideoEngine } from '#engines/ports/media-engines.ts'
import { otherCustomers } from '#ledger/ledger-counts.ts'
import { type Store, StoreError } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { type OpenedService, type OpenServiceOptions, openService, TestClock } from '../open-service.ts'
import { type Figure, figuresIn } from './figures.ts'

const metricsToken = 'the token of the metrics'
const failing: VideoEngine = {
  carries: () => true,
  start: async () => ({ state: 'failed', reason: 'It could not.' }) satisfies JobProgress,
  poll: async () => ({ state: 'failed', reason: 'It could not.' }) satisfies JobProgress,
}

let folder: string
let clock: TestClock
let service: OpenedService
beforeEach(() => {
  folder = temporaryFolder('money')
  clock = new TestClock()
})
afterEach(() => service.close())

const open = async (options: OpenServiceOptions = {}) => {
  service = await openService({ folder, clock, metricsToken, video: failing, ...options })
}

async function commit(...ops: Op[]): Promise<void> {
  const [outcome] = await service.store.commit([{ id: uuidV7(clock.now()), ops }])
  expect(outcome?.ok).toBe(true)
}

/** A customer with 1 USD and a wallet whose stake gives a hundredth of one each day. */
async function customer(): Promise<{ key: string; account: string }> {
  const order = { amountMicroUsd: 1_000_000n, label: '' }
  const made = await createKey({ keys: service.service.keys, now: () => clock.now() }, order)
  await commit({
    op: 'wallet',
    wallet: `0x${uuidV7(clock.now()).replaceAll('-', '')}00000000`,
    account: made.account,
    atMs: clock.now(),
  })
  return made
}

const chat = (key: string, more: object = {}) => {
  const body = { model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 9, ...more }
  return service.post('/chat/completions', body, key).then(answer => answer.text())
}

/** A call that cost more than it held, as its process wrote it. */
async function overrun(account: string): Promise<void> {
  const [request, atMs] = [uuidV7(clock.now()), clock.now()]
  const lease = { owner: 'a test', untilMs: atMs }
  const line = { sku: 'chat.output', units: 50n, unitPricePicoUsd: 1_000_000n, amount: microUsd(50) }
  await commit(
    { op: 'hold', hold: request, account, amount: microUsd(37), lease, atMs },
    { op: 'capture', hold: request, request, model: 'demo-chat', lines: [line], writeOff: microUsd(13), atMs },
  )
}

async function figures(): Promise<Figure[]> {
  const answer = await service.request('/metrics', { headers: { authorization: `Bearer ${metricsToken}` } })
  return figuresIn(await answer.text())
}

/** `charged_micro_usd demo-chat 123`, without what is 0. */
const ofMoney = (all: readonly Figure[]): string[] =>
  all
    .filter(
      ({ name, value }) => value !== '0' && /_micro_usd_total$|_(charged_requests|tokens|units)_total$/.test(name),
    )
    .filter(({ labels }) => labels.customer === undefined)
    .map(({ name, labels: { model = '', sku, type }, value }) =>
      [name.replace(/^farebox_|_total$/g, ''), model, sku ?? type ?? '', value].join(' '),
    )
    .sort()

const nameOf: Record<string, string> = {
  CHARGE: 'charged_micro_usd',
  WRITE_OFF: 'written_off_micro_usd',
  REFUND: 'refunded_micro_usd',
  'STAKING 1': 'staking_micro_usd',
  'STAKING -1': 'staking_returned_micro_usd',
  TOP_UP: 'topped_up_micro_usd',
  GRANT: 'granted_micro_usd',
}

/** The same from the entries after one of them. */
async function ofLedger(after = 0): Promise<string[]> {
  const entries = await service.store.read.selectFrom('entry').selectAll().where('seq', '>', after).execute()
  const sums = new Map<string, bigint>()
  const add = (key: string, value: bigint) => sums.set(key, (sums.get(key) ?? 0n) + value)
  for (const { kind, model, amount, effect, sku, units, line } of entries) {
    const name = kind === 'STAKING' ? `${kind} ${effect > 0n ? 1 : -1}` : kind
    add(`${nameOf[name]} ${model ?? ''} `, amount)
    if (kind !== 'CHARGE') continue
    if (line === 0) add(`charged_requests ${model ?? ''} `, 1n)
    const isOfTokens = sku?.startsWith('chat.')
    add(isOfTokens ? `tokens ${model} ${sku?.split('.')[1]}` : `units ${model} ${sku}`, units ?? 0n)
  }
  return [...sums].map(([key, value]) => `${key} ${value}`).sort()
}

const newestEntry = async () =>
  Number((await sql<{ seq: number }>`SELECT max(seq) AS seq FROM entry`.execute(service.store.read)).rows[0]?.seq ?? 0)

test('charges, tokens, refunds, write-offs, staking credit, top-ups and grants are those of the ledger', async () => {
  await open({ stakes: { stakeOf: async () => 10_000n } })
  const [one, other] = [await customer(), await customer()]
  await chat(one.key)
  await chat(one.key, { stream: true })
  await chat(other.key, { messages: [] })
  const film = { model: 'demo-video', prompt: 'A lighthouse', duration: '2s', resolution: '360p', audio: false }
  expect((await service.post('/video/queue', film, other.key)).status).toBe(200)
  const states = () => service.store.read.selectFrom('job').select('state').execute()
  await expect.poll(states).toEqual([{ state: 'failed' }])
  await overrun(one.account)
  await commit({
    op: 'credit',
    account: one.account,
    amount: microUsd(5_000_001),
    source: 'system:usdc',
    ref: 'p',
    atMs: 1,
  })
  const told = ofMoney(await figures())
  expect(told).toEqual(await ofLedger())
  const kinds = new Set(told.map(line => line.split(' ')[0]))
  expect([...Object.values(nameOf), 'charged_requests', 'tokens', 'units'].filter(kind => !kinds.has(kind))).toEqual([])
  // The sums by day, from which usage and the console are shown, say the same.
  const { rows } = await sql<{ model: string; charged_usd: bigint; requests: number }>`
    SELECT model, -CAST(sum(effect_usd) AS BIGINT) AS charged_usd, CAST(sum(requests) AS BIGINT) AS requests
    FROM day_sum WHERE kind = 'CHARGE' GROUP BY model`.execute(service.store.read)
  const byDay = rows.flatMap(({ model, charged_usd, requests }) => [
    `charged_micro_usd ${model}  ${charged_usd}`,
    `charged_requests ${model}  ${requests}`,
  ])
  expect(told.filter(line => line.startsWith('charged_'))).toEqual(byDay.sort())
  // Read again, they are the same: nothing is counted twice.
  expect(ofMoney(await figures())).toEqual(told)
})

test('each series names the engine of its model, and begins at 0 before the first charge', async () => {
  await open()
  const ofChat = async () =>
    (await figures())
      .filter(({ name, labels }) => labels.model === 'demo-chat' && /_(charged_micro_usd|tokens)_total$/.test(name))
      .map(({ labels, value }) => [labels.engine, labels.type ?? '', value !== '0'].join(' '))
  expect(await ofChat()).toEqual(['demo input false', 'demo output false', 'demo  false'])
  await chat((await customer()).key)
  expect(await ofChat()).toEqual(['demo input true', 'demo output true', 'demo  true'])
})

test('what a killed process owed is counted by the one that charges it', async () => {
  await open()
  const { account } = await customer()
  const [hold, atMs] = [uuidV7(clock.now()), clock.now()]
  const lease = { owner: 'a dead process', untilMs: atMs + 30_000 }
  const lines = [{ sku: 'chat.output', units: 7n, unitPricePicoUsd: 1_000_000n, amount: microUsd(7) }]
  await commit({ op: 'hold', hold, account, amount: microUsd(10), lease, atMs })
  await commit({ op: 'renew', hold, lease, owed: { request: hold, model: 'demo-chat', lines } })
  const before = await newestEntry()
  await service.service.close()
  await service.store.close()
  await open()
  expect(ofMoney(await figures())).toEqual(await ofLedger(before))
  expect(ofMoney(await figures())).toContain('charged_micro_usd demo-chat  7')
})

/** Applies each unit of a charge, and loses the answer the first time. */
function losingAnswers(real: Store): Store {
  const lost = new Set<string>()
  return {
    read: real.read,
    soleOwner: real.soleOwner,
    prune: (slice, rows) => real.prune(slice, rows),
    close: () => real.close(),
    async commit(units) {
      const outcomes = await real.commit(units)
      const unit = units.find(
        ({ id, ops }) => ops.some(({ op }) => op === 'capture' || op === 'credit') && !lost.has(id),
      )
      if (!unit) return outcomes
      lost.add(unit.id)
      throw new StoreError('outcome_unknown', 'The answer was lost.')
    },
  }
}

test('a charge whose first answer was lost is counted once', async () => {
  await open({ storeBefore: losingAnswers })
  const key = await service.key(1)
  await chat(key)
  await chat(key)
  expect(ofMoney(await figures())).toEqual(await ofLedger())
})

test('customers have no series by default, and as many as are asked for', async () => {
  await open()
  await chat((await customer()).key)
  expect((await figures()).filter(({ labels }) => labels.customer !== undefined)).toEqual([])
  await service.service.close()
  await service.store.close()
  await open({ metricsCustomers: 2 })
  const customers = [await customer(), await customer(), await customer(), await customer()]
  for (const { key } of customers) await chat(key)
  const charged = (await figures()).filter(({ name }) => name === 'farebox_customer_charged_micro_usd_total')
  const names = charged.map(({ labels }) => labels.customer)
  expect(names).toEqual([customers[0]?.account, customers[1]?.account, otherCustomers])
  const all = (await figures()).find(({ name }) => name === 'farebox_charged_micro_usd_total')
  expect(charged.reduce((sum, { value }) => sum + Number(value), 0)).toBe(Number(all?.value))
})
