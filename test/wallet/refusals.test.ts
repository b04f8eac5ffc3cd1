import { afterEach, describe, expect, test, vi } from 'vitest'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import { allowCall } from '#wallet/approvals/allow-call.ts'
import * as limits from '#wallet/limits.ts'
import type { Records } from '#wallet/records/records.ts'
import type { PolicySettings } from '#wallet/rules/policy.ts'
import { listRefusals, type RefusalRecord, recordRefusal } from '#wallet/rules/refusals.ts'
import { start, stop } from '#wallet/rules/stop-switch.ts'
import type { Order } from '#wallet/terms/order.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { attacker, fakeService, option, order, origin, payTo, sampleWallet, usd } from './sample-wallet.ts'
import { fileStore, type OpenTestStore, postgresStore, type TestStore } from './test-store.ts'

/** Each step is a commit that is synced, on a machine that may be busy. */
vi.setConfig({ testTimeout: 60_000 })

const requestHash = 'ab'.repeat(32)
const call = { operation: 'createChatCompletion', requestHash }

describe('refusals in a file', () => refusalsContract(fileStore))
withPostgres('refusals in PostgreSQL', cluster => refusalsContract(postgresStore(cluster)))

interface Refused {
  settings?: Partial<PolicySettings>
  order: Partial<Order>
  /** Payments before it. */
  paid?: number
  record: Partial<RefusalRecord>
}

const offer = (...changes: Parameters<typeof option>) => ({ accepts: [option(...changes)] })
const foreign = { network: 'eip155:1', asset: usdcOnEvm, payTo, amountMicroUsd: usd(5) }
const rows: [rule: string, Refused][] = [
  [
    'max-payment',
    { settings: { maxPaymentUsd: '4' }, order: {}, record: { amountMicroUsd: usd(5), limitMicroUsd: usd(4) } },
  ],
  [
    'max-day',
    {
      ...{ settings: { maxDayUsd: '8', cooldownMs: 0 }, order: {}, paid: 1 },
      record: { amountMicroUsd: usd(5), limitMicroUsd: usd(8), leftMicroUsd: usd(3) },
    },
  ],
  [
    'max-total',
    {
      ...{ settings: { maxTotalUsd: '9', cooldownMs: 0 }, order: {}, paid: 1 },
      record: { amountMicroUsd: usd(5), limitMicroUsd: usd(9), leftMicroUsd: usd(4) },
    },
  ],
  ['origin', { order: { origin: 'https://evil.example' }, record: { origin: 'https://evil.example' } }],
  ['network', { order: offer({ network: 'eip155:1' }), record: foreign }],
  ['asset', { order: offer({ asset: attacker }), record: { asset: attacker, network: evmNetwork } }],
  ['recipient', { order: offer({ payTo: `0x${'0'.repeat(40)}` }), record: { payTo: `0x${'0'.repeat(40)}` } }],
  ['authorization-lifetime', { order: offer({ maxTimeoutSeconds: 31_536_000 }), record: { payTo } }],
  [
    'price-bait',
    { order: offer({ amount: '900000000000000000' }), record: { amountMicroUsd: 900_000_000_000_000_000n } },
  ],
  ['minimum', { order: { occasion: 'asked', amountMicroUsd: usd(1) }, record: { amountMicroUsd: usd(1) } }],
  // A service's words are not kept: only what looks like a name of a chain or an address.
  ['scheme', { order: offer({ scheme: 'upto' as never, payTo: 'Pay\nme' }), record: { payTo: null } }],
]

/** What every store of the wallet's records keeps of a refusal. */
function refusalsContract(openStore: OpenTestStore): void {
  let store: TestStore
  const opened: (() => void)[] = []
  afterEach(async () => {
    for (const dispose of opened.splice(0)) dispose()
    await store.dispose()
  })

  const setUp = async (settings: Partial<PolicySettings> = {}) => {
    store = await openStore()
    const records = store.open()
    const sample = await sampleWallet(settings, { records })
    opened.push(sample.dispose)
    const service = fakeService(sample.wallet.address, 'credit')
    const ruleOf = (error: { rule?: string; name: string }) => error.rule ?? error.name
    const pay = (changes: Partial<Order> = {}) =>
      sample.wallet.pay(order({ call, ...changes }), service.send).then(() => 'paid', ruleOf)
    return { ...sample, records, pay, refusals: () => refusalsIn(records) }
  }

  const refusalsIn = (records: Records): Promise<RefusalRecord[]> => records.read(() => listRefusals(99))

  test.each(rows)('%s', async (rule, { settings, order: asked, paid = 0, record }) => {
    const { pay, refusals, wallet, clock } = await setUp(settings)
    for (let time = 0; time < paid; time++) expect(await pay()).toBe('paid')
    await store.advance(20_000)
    clock.advance(20_000)
    expect(await pay(asked)).toBe(rule)
    const [refusal, ...others] = await refusals()
    expect(others).toEqual([])
    expect(refusal).toMatchObject({ rule, ...call, origin, address: wallet.address, times: 1, ...record })
    expect(refusal).toMatchObject({ firstAtMs: store.now(), lastAtMs: store.now() })
    expect(refusal?.sentence).toMatch(/\S\.$/)
    expect(JSON.stringify(refusal, (_, member) => String(member))).not.toContain('Pay\nme')
  })

  test('cooldown, and the switch that is thrown', async () => {
    const { pay, refusals, records } = await setUp({ cooldownMs: 60_000 })
    await pay()
    await store.advance(30_000)
    expect(await pay()).toBe('cooldown')
    await records.decide(nowMs => stop('a test', nowMs))
    expect(await pay()).toBe('stopped')
    await records.decide(start)
    expect((await refusals()).map(({ rule }) => rule)).toEqual(['stopped', 'cooldown'])
  })

  test('a dry run and a payment that is still open are no refusals', async () => {
    const { pay, refusals, wallet } = await setUp({ dryRun: true })
    expect(await pay()).toBe('dry-run')
    expect(await refusals()).toEqual([])
    const other = await setUp()
    const lost = fakeService(wallet.address, 'lose after')
    await expect(other.wallet.pay(order(), lost.send)).rejects.toMatchObject({ rule: 'outcome-unknown' })
    expect(await other.refusals()).toEqual([])
  })

  test('the same refusal of the same call is one row within an hour', async () => {
    const { pay, refusals } = await setUp({ maxPaymentUsd: '4' })
    for (let time = 0; time < 5; time++) await pay()
    const first = store.now()
    await store.advance(limits.sameRefusalMs - 1)
    await pay()
    expect(await refusals()).toMatchObject([{ times: 6, firstAtMs: first, lastAtMs: store.now() }])
    await store.advance(1)
    await pay()
    await pay({ call: { ...call, requestHash: 'cd'.repeat(32) } })
    expect((await refusals()).map(({ times }) => times)).toEqual([1, 1, 6])
  })

  test('what is a year old goes', async () => {
    const { pay, refusals } = await setUp({ maxPaymentUsd: '4' })
    await pay()
    await store.advance(limits.refusalsKeptMs)
    await pay()
    expect(await refusals()).toHaveLength(2)
    await store.advance(1)
    await pay({ call: { ...call, operation: null } })
    expect(await refusals()).toHaveLength(2)
  })

  test('a denial by the user is one, and so is the repeated request', async () => {
    const { pay, refusals, wallet } = await setUp()
    const asked = { ...offer({ payTo: attacker }), call }
    expect(await pay(asked)).toBe('NeedsApproval')
    const [question] = await wallet.approvals.list('pending')
    await wallet.approvals.resolve(question?.id ?? '', { isApproved: false, by: 'terminal, ada' })
    expect(await refusals()).toMatchObject([
      { rule: 'denied', operation: call.operation, payTo: attacker, amountMicroUsd: usd(5), times: 1 },
    ])
    expect(await pay(asked)).toBe('denied')
    expect(await refusals()).toMatchObject([{ rule: 'denied', times: 2 }])
  })

  test('an unanswered request and an unused approval each end as one refusal', async () => {
    const { records, refusals, wallet, folder, pay } = await setUp()
    const rules = { policy: wallet.policy, state: { folder }, records, approvals: wallet.approvals, wallet }
    const ask = (hash: string) =>
      allowCall(
        rules,
        { what: 'A video', quotedMicroUsd: usd(2), operation: 'queueVideo' },
        { requestHash: hash, by: hash },
      ).catch(({ approval }) => approval.approvalId as string)
    const first = store.now()
    await ask('one')
    const agreed = await ask('two')
    await wallet.approvals.resolve(String(agreed), { isApproved: true, by: 'terminal, ada' })
    expect(await refusals()).toEqual([])
    await store.advance(limits.requestLifeMs)
    for (const hash of ['three', 'four']) await ask(hash)
    const expired = { rule: 'expired', operation: 'queueVideo', origin, amountMicroUsd: usd(2), times: 1 }
    expect(await refusals()).toMatchObject([
      { ...expired, requestHash: 'one', firstAtMs: first + limits.requestLifeMs },
      { ...expired, requestHash: 'two', firstAtMs: first + limits.approvalLifeMs },
    ])
    expect(await pay()).toBe('paid')
  })

  test('a call above its cap is one, also of an API key, which has no address', async () => {
    const { records, refusals, wallet, folder } = await setUp()
    const rules = { policy: wallet.policy, state: { folder }, records, approvals: wallet.approvals }
    const planned = { what: 'A video', quotedMicroUsd: usd(11), operation: 'queueVideo' }
    const attempt = { requestHash, by: 'x' }
    await expect(allowCall({ ...rules, wallet }, planned, attempt)).rejects.toMatchObject({ rule: 'max-call' })
    await expect(allowCall(rules, planned, attempt)).rejects.toMatchObject({ rule: 'max-call' })
    const terms = { rule: 'max-call', operation: 'queueVideo', amountMicroUsd: usd(11), limitMicroUsd: usd(10) }
    expect(await refusals()).toMatchObject([
      { ...terms, requestHash, address: null },
      { ...terms, requestHash, address: wallet.address },
    ])
  })
}

test('so many are kept, and the newest of them', async () => {
  const store = await fileStore()
  const records = store.open()
  const refused = (operation: string) =>
    ({ rule: 'max-day', sentence: 'No.', origin, address: null, operation }) as const
  await records.decide(function* (nowMs) {
    for (let n = 0; n <= limits.keptRefusals; n++) yield* recordRefusal(refused(`call ${n}`), nowMs + n)
  })
  const kept = await records.read(() => listRefusals(2 * limits.keptRefusals))
  expect(kept).toHaveLength(limits.keptRefusals)
  expect(kept.at(-1)?.operation).toBe('call 1')
  await store.dispose()
}, 60_000)
