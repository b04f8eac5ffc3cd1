import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { microUsd, priceLines } from '#contract/money.ts'
import { audit } from '#service/ledger/audit.ts'
import type { FindingKind } from '#service/ledger/audit-report.ts'
import type { Op } from '#service/store/units.ts'
import {
  account,
  capture,
  grant,
  hold,
  job,
  lease,
  mustCommit,
  nowMs,
  payment,
  refund,
  topUp,
} from '../store/sample-ops.ts'
import { openTemporaryStore } from '../store/sqlite-folder.ts'

const clock = { now: () => nowMs }

/** Tokens priced below a micro-USD, so that only the running total can be rounded. */
const tokens = [
  { units: 1_234n, unitPricePicoUsd: 150_001n },
  { units: 77n, unitPricePicoUsd: 600_007n },
  { units: 3n, unitPricePicoUsd: 1n },
]

const chargeTokens = (id: string): Op => {
  const amounts = priceLines(tokens)
  const lines = tokens.map((line, index) => ({ ...line, sku: `sku-${index}`, amount: amounts[index] ?? microUsd(0) }))
  return { op: 'capture', hold: id, request: id, model: 'demo-chat', lines, atMs: nowMs }
}

let opened: Awaited<ReturnType<typeof openTemporaryStore>>

/** Sound books with one of everything. */
beforeEach(async () => {
  opened = await openTemporaryStore()
  const { store } = opened
  await mustCommit(store, account(), account('bob'), grant(1_000_000n, 'welcome'))
  await mustCommit(store, payment('p', null, 'claimed', 0, { amount: microUsd(5_000_000) }))
  await mustCommit(store, payment('p', 'claimed', 'credited', 1), topUp(5_000_000n, 'p', 'bob'))
  await mustCommit(store, hold('chat', 9_000n))
  await mustCommit(store, chargeTokens('chat'))
  await mustCommit(store, hold('good', 70n, 'bob'), capture('good', [70n]), bobsJob('good'))
  await mustCommit(store, hold('bad', 80n, 'bob'), capture('bad', [50n, 30n]), bobsJob('bad'))
  await mustCommit(store, job('bad', 'queued', 'failed', 1, { failure: '{}' }), refund('bad'))
  await mustCommit(store, hold('open', 11n, 'ada', lease(nowMs)))
})
afterEach(() => opened.dispose())

const bobsJob = (id: string): Op => job(id, null, 'queued', 0, { account: 'bob', request: id })

test('sound books: no finding, and all of them counted', async () => {
  const report = await audit(opened.path, { clock })
  expect(report).toMatchObject({ ok: true, findings: [], findingsLeftOff: 0, driftMicroUsd: 0n })
  expect(report.counts).toEqual({
    ...{ accounts: 2, entries: 9, topUps: 1, grants: 1, charges: 6, refunds: 1 },
    ...{ openHolds: 1, payments: 1, jobs: 2 },
  })
  const revenue = priceLines(tokens).reduce((sum, amount) => sum + amount, 70n)
  const systemMicroUsd = { 'system:grant': -1_000_000n, 'system:usdc': -5_000_000n, 'system:revenue': revenue }
  expect(report.systemMicroUsd).toEqual(systemMicroUsd)
})

/** Takes the guards away that would stop the damage. */
const unlocked =
  'DROP TRIGGER entry_is_never_updated; DROP TRIGGER entry_is_never_deleted; PRAGMA ignore_check_constraints = 1;'
const copied =
  'id, kind, account, debit, credit, amount, posted_after, ref, line, request, units, unit_price_pico_usd, created_at_ms'
/** What breaks the books, the kinds of findings, and the drift that it makes. */
const damages: [rule: string, sql: string, finds: FindingKind[], driftMicroUsd: bigint][] = [
  [
    'I1 all accounts sum to 0',
    `UPDATE account SET posted = posted + 3 WHERE id = 'ada'`,
    ['not_balanced', 'posted_differs'],
    3n,
  ],
  [
    'I2 posted is the sum of entries',
    `UPDATE account SET posted = posted + iif(id = 'ada', 2, -2)`,
    ['posted_differs'],
    4n,
  ],
  [
    'I2 an entry is missing',
    `DELETE FROM entry WHERE kind = 'GRANT'`,
    ['not_balanced', 'posted_differs', 'history_differs'],
    1_000_000n,
  ],
  [
    'I3 nothing below zero',
    `UPDATE account SET held = posted + 1 WHERE id = 'bob'`,
    ['held_differs', 'negative_balance'],
    4_999_931n,
  ],
  ['I4 held is the sum of open holds', `DELETE FROM hold`, ['held_differs'], 11n],
  ['I4 a hold grew by itself', `UPDATE hold SET amount = amount + 4`, ['held_differs'], 4n],
  [
    'money of nobody',
    `PRAGMA foreign_keys = 0; UPDATE hold SET account = 'eve'`,
    ['held_differs', 'unknown_account'],
    22n,
  ],
  ['I5 a top-up without its payment', `DELETE FROM payment`, ['top_up_without_payment'], 0n],
  ['I5 a top-up whose payment is not credited', `UPDATE payment SET state = 'unknown'`, ['top_up_without_payment'], 0n],
  ['I6 a payment of another amount', `UPDATE payment SET amount = amount - 1`, ['payment_amount_differs'], 0n],
  [
    'I6 a payment that was never credited',
    `INSERT INTO payment SELECT 'q', state, fence, network, payer, amount, payload, valid_before_seconds, transaction_id, answer, lease_owner, lease_until_ms, created_at_ms, updated_at_ms FROM payment`,
    ['payment_not_credited'],
    0n,
  ],
  [
    'I8 a request charged twice',
    `DROP INDEX entry_once; INSERT INTO entry (${copied}) SELECT ${copied} FROM entry WHERE request = 'good'`,
    ['not_balanced', 'posted_differs', 'history_differs', 'charged_twice'],
    70n,
  ],
  ['I8 a hold that came back', `INSERT INTO ended_hold VALUES ('open', 'released')`, ['hold_open_and_ended'], 0n],
  [
    'I10 a refund that is not its charge',
    `UPDATE entry SET request = 'good', ref = 'refund:good' WHERE kind = 'REFUND'`,
    ['refund_differs', 'failed_job_not_refunded', 'refunded_job_not_failed'],
    0n,
  ],
  [
    'I10 a refund of nothing',
    `UPDATE entry SET request = 'no', ref = 'refund:no' WHERE kind = 'REFUND'`,
    ['refund_differs', 'failed_job_not_refunded'],
    0n,
  ],
  [
    'I10 a failed job that kept its charge',
    `UPDATE job SET state = 'failed' WHERE id = 'good'`,
    ['failed_job_not_refunded'],
    0n,
  ],
  [
    'I10 a refunded job that goes on',
    `UPDATE job SET state = 'running' WHERE id = 'bad'`,
    ['refunded_job_not_failed'],
    0n,
  ],
  ['I10 deleting a failed job is fine', `UPDATE job SET state = 'deleted' WHERE id = 'bad'`, [], 0n],
  [
    'a charge of the wrong side',
    `UPDATE entry SET credit = 'system:grant' WHERE request = 'good'`,
    ['entry_misshapen'],
    0n,
  ],
  [
    'a price that was changed later',
    `UPDATE entry SET unit_price_pico_usd = unit_price_pico_usd * 2 WHERE request = 'good'`,
    ['charge_differs_from_price'],
    0n,
  ],
  [
    'a history that was rewritten',
    `UPDATE entry SET posted_after = posted_after + 1 WHERE kind = 'REFUND'`,
    ['history_differs'],
    0n,
  ],
]

describe('each damage to the books is found', () => {
  test.each(damages)('%s', async (_rule, sql, finds, driftMicroUsd) => {
    opened.tamper(unlocked + sql)
    const report = await audit(opened.path, { clock })
    expect([...new Set(report.findings.map(finding => finding.kind))]).toEqual(finds)
    expect(report).toMatchObject({ ok: finds.length === 0, driftMicroUsd })
  })
})

test('a line is recomputed with the one rounding of its request', async () => {
  const pico = tokens.reduce((sum, { units, unitPricePicoUsd }) => sum + units * unitPricePicoUsd, 0n)
  expect(pico % 1_000_000n).not.toBe(0n)
  opened.tamper(`${unlocked} UPDATE entry SET units = 1000000 WHERE request = 'chat' AND line = 2`)
  const { findings } = await audit(opened.path, { clock })
  expect(findings.map(({ kind }) => kind)).toEqual(['charge_differs_from_price'])
  expect(findings[0]?.sentence).toMatch(/^Entry \S+ charged \d+ micro-USD; 1000000 units at 1 pico-USD make \d+\.$/)
})

test('a hold is listed once its lease ended long enough ago', async () => {
  const after = (ms: number) => audit(opened.path, { clock: { now: () => nowMs + ms }, expiredHoldMs: 1_000 })
  expect((await after(1_000)).findings).toEqual([])
  expect((await after(1_001)).findings).toMatchObject([{ kind: 'hold_expired', subject: 'open' }])
})

test('findings beyond a thousand are counted', async () => {
  const holds = Array.from({ length: 60 }, (_, index) => hold(`h${index}`, 1n, 'bob', lease(0)))
  for (let round = 0; round < 18; round++)
    await mustCommit(
      opened.store,
      ...holds.map(one => ({ ...one, hold: `${round}/${(one as { hold: string }).hold}` }) as Op),
    )
  const report = await audit(opened.path, { clock })
  expect(report.findings).toHaveLength(1_000)
  expect(report.findingsLeftOff).toBe(80)
})

test('a path without a database is one clear sentence', async () => {
  await expect(audit(`${opened.path}.missing`)).rejects.toThrow(/^There is no database at .+; give the path/)
})
