/** A sound ledger with one row of every kind, and every kind of damage that an audit has to find. */
import { microUsd, priceLines } from '#contract/money.ts'
import type { FindingKind } from '#ledger/audit/findings.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import {
  account,
  budget,
  by,
  capture,
  claim,
  grant,
  hold,
  job,
  key,
  lease,
  mustCommit,
  nowMs,
  payment,
  refund,
  staked,
  topUp,
} from '../../ledger/store/sample-ops.ts'

/** Tokens priced below a micro-USD, so that only the running total can be rounded. */
export const tokens = [
  { units: 1_234n, unitPricePicoUsd: 150_001n },
  { units: 77n, unitPricePicoUsd: 600_007n },
  { units: 3n, unitPricePicoUsd: 1n },
]

const chargeTokens = (id: string): Op => {
  const amounts = priceLines(tokens)
  const lines = tokens.map((line, index) => ({ ...line, sku: `sku-${index}`, amount: amounts[index] ?? microUsd(0) }))
  return { op: 'capture', hold: id, request: id, model: 'demo-chat', lines, atMs: nowMs }
}

export async function writeIntactLedger(store: Store): Promise<void> {
  await mustCommit(store, account(), account('bob'), grant(1_000_000n, 'welcome'))
  await mustCommit(store, payment('p', null, 'claimed', 0, { amount: microUsd(5_000_000) }))
  await mustCommit(store, payment('p', 'claimed', 'credited', 1), topUp(5_000_000n, 'p', 'bob'))
  await mustCommit(store, hold('chat', 9_000n))
  await mustCommit(store, chargeTokens('chat'))
  await mustCommit(store, hold('good', 70n, 'bob'), capture('good', [70n]), bobsJob('good'))
  await mustCommit(store, hold('bad', 80n, 'bob'), capture('bad', [50n, 30n]), bobsJob('bad'))
  await mustCommit(store, job('bad', 'queued', 'failed', 1, { failure: '{}' }), refund('bad'))
  await mustCommit(store, hold('open', 11n, 'ada', lease(nowMs)))
  await eveOnStaking(store)
  await mustCommit(store, claim('once', null, 'running', 0, { account: 'bob', request: 'good' }))
  await mustCommit(store, claim('once', 'running', 'done', 1, { answer: '{}' }))
  await mustCommit(store, claim('twice', null, 'running', 0))
}

const bobsJob = (id: string): Op => job(id, null, 'queued', 0, { account: 'bob', request: id })

/** A customer with staking credit, and a key that has a budget of both kinds: charged, refunded, written off, open. */
async function eveOnStaking(store: Store): Promise<void> {
  const eves = (id: string, amount: bigint, granted: bigint) =>
    hold(id, amount, 'eve', lease(), { ...by('eves'), ...staked(granted) })
  await mustCommit(store, account('eve'), grant(1_000n, 'eves', 'eve'))
  await mustCommit(store, key('eves', 'hash', 'eve', budget(500n, 90n)))
  await mustCommit(store, eves('mixed', 60n, 40n), capture('mixed', [40n, 30n], 'mixed', { writeOff: microUsd(10) }))
  await mustCommit(store, eves('back', 50n, 100n), capture('back', [45n]), refund('back'))
  await mustCommit(store, eves('later', 70n, 100n))
}

const copied =
  'id, kind, account, debit, credit, amount, posted_after, ref, line, request, units, unit_price_pico_usd, created_at_ms'
/** What breaks the ledger, the kinds of findings, and the drift that it makes. */
export const damages: [rule: string, sql: string, finds: FindingKind[], driftMicroUsd: bigint][] = [
  [
    'all accounts sum to 0',
    `UPDATE account SET posted = posted + 3 WHERE id = 'ada'`,
    ['not_balanced', 'posted_differs'],
    3n,
  ],
  [
    'posted is the sum of entries',
    `UPDATE account SET posted = posted + CASE id WHEN 'ada' THEN 2 WHEN 'bob' THEN -2 ELSE 0 END`,
    ['posted_differs'],
    4n,
  ],
  [
    'an entry is missing',
    `DELETE FROM entry WHERE ref = 'welcome'`,
    ['not_balanced', 'posted_differs', 'history_differs', 'day_sum_differs'],
    1_000_000n,
  ],
  [
    'nothing below zero',
    `UPDATE account SET held = posted + 1 WHERE id = 'bob'`,
    ['held_differs', 'negative_balance'],
    4_999_931n,
  ],
  ['held is the sum of open holds', `DELETE FROM hold WHERE id = 'open'`, ['held_differs'], 11n],
  ['a hold grew by itself', `UPDATE hold SET amount = amount + 4 WHERE id = 'open'`, ['held_differs'], 4n],
  [
    'money without an account',
    `UPDATE hold SET account = 'nobody' WHERE id = 'open'`,
    ['held_differs', 'unknown_account'],
    22n,
  ],
  ['a top-up without its payment', `DELETE FROM payment`, ['top_up_without_payment'], 0n],
  ['a top-up whose payment is not credited', `UPDATE payment SET state = 'unknown'`, ['top_up_without_payment'], 0n],
  ['a payment of another amount', `UPDATE payment SET amount = amount - 1`, ['payment_amount_differs'], 0n],
  [
    'a payment that was never credited',
    `INSERT INTO payment (id, state, fence, network, payer, amount, payload, valid_before_seconds, transaction_id, answer, lease_owner, lease_until_ms, created_at_ms, updated_at_ms) SELECT 'q', state, fence, network, payer, amount, payload, valid_before_seconds, transaction_id, answer, lease_owner, lease_until_ms, created_at_ms, updated_at_ms FROM payment`,
    ['payment_not_credited'],
    0n,
  ],
  [
    'a request charged twice',
    `INSERT INTO entry (${copied}) SELECT ${copied} FROM entry WHERE request = 'good'`,
    ['not_balanced', 'posted_differs', 'history_differs', 'charged_twice'],
    70n,
  ],
  ['a hold that came back', `INSERT INTO ended_hold VALUES ('open', 'released')`, ['hold_open_and_ended'], 0n],
  [
    'a refund that is not its charge',
    `UPDATE entry SET request = 'good', ref = 'refund:good' WHERE ref = 'refund:bad'`,
    ['refund_differs', 'failed_job_not_refunded', 'refunded_job_not_failed'],
    0n,
  ],
  [
    'a refund of nothing',
    `UPDATE entry SET request = 'no', ref = 'refund:no' WHERE ref = 'refund:bad'`,
    ['refund_differs', 'failed_job_not_refunded'],
    0n,
  ],
  [
    'a failed job that kept its charge',
    `UPDATE job SET state = 'failed' WHERE id = 'good'`,
    ['failed_job_not_refunded'],
    0n,
  ],
  ['a refunded job that goes on', `UPDATE job SET state = 'running' WHERE id = 'bad'`, ['refunded_job_not_failed'], 0n],
  ['deleting a failed job is fine', `UPDATE job SET state = 'deleted' WHERE id = 'bad'`, [], 0n],
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
    `UPDATE entry SET posted_after = posted_after + 1 WHERE ref = 'refund:bad'`,
    ['history_differs'],
    0n,
  ],
  [
    'a credit under a name of charges',
    `UPDATE entry SET ref = 'charge:free' WHERE ref = 'welcome'`,
    ['entry_misshapen'],
    0n,
  ],
  [
    'staking credit out of another pocket',
    `UPDATE entry SET debit = 'system:grant' WHERE ref = 'staking:mixed'`,
    ['entry_misshapen'],
    0n,
  ],
  [
    'staking credit of no day',
    `UPDATE entry SET staking_day_ms = NULL WHERE ref = 'staking:mixed'`,
    ['entry_misshapen', 'staking_credit_differs'],
    80n,
  ],
  [
    'a write-off that claims to be a grant',
    `UPDATE entry SET kind = 'GRANT' WHERE kind = 'WRITE_OFF'`,
    ['entry_misshapen', 'day_sum_differs'],
    0n,
  ],
  [
    'a write-off above its charge',
    `UPDATE entry SET amount = 71 WHERE kind = 'WRITE_OFF'`,
    ['not_balanced', 'posted_differs', 'history_differs', 'funding_differs', 'key_use_differs', 'day_sum_differs'],
    122n,
  ],
  [
    'a charge paid by the budget of another key',
    `UPDATE entry SET api_key = 'other' WHERE ref = 'staking:mixed'`,
    ['funding_differs'],
    0n,
  ],
  [
    'a write-off of no charge',
    `UPDATE entry SET request = 'none', ref = 'writeoff:none' WHERE kind = 'WRITE_OFF'`,
    ['funding_differs'],
    0n,
  ],
  [
    'a refund that keeps the staking credit',
    `UPDATE entry SET amount = amount - 1 WHERE ref = 'staking-back:back'`,
    [
      'not_balanced',
      'posted_differs',
      'history_differs',
      'refund_differs',
      'staking_credit_differs',
      'day_sum_differs',
    ],
    2n,
  ],
  [
    'staking credit that went back to another day',
    `UPDATE entry SET staking_day_ms = staking_day_ms + 1 WHERE ref = 'staking-back:back'`,
    ['refund_differs', 'staking_credit_differs'],
    90n,
  ],
  [
    'staking credit that says it was spent',
    `UPDATE staking_credit SET spent_usd = spent_usd + 5`,
    ['staking_credit_differs'],
    5n,
  ],
  [
    'staking credit that is not held',
    `UPDATE staking_credit SET held_usd = held_usd + 5`,
    ['staking_credit_differs'],
    5n,
  ],
  ['the use of a key that was forgotten', `UPDATE key_use SET spent_usd = 0`, ['key_use_differs'], 20n],
  ['the use of a key without a hold', `UPDATE key_use SET held_usd = held_usd + 5`, ['key_use_differs'], 5n],
  [
    'staking credit of a key that was not spent',
    `UPDATE key_use SET spent_staking_usd = spent_staking_usd - 5`,
    ['key_use_differs'],
    5n,
  ],
  [
    'staking credit of a key that is not held',
    `UPDATE key_use SET held_staking_usd = held_staking_usd + 5`,
    ['key_use_differs'],
    5n,
  ],
  [
    'staking credit beyond its charge',
    `UPDATE entry SET amount = amount + 21 WHERE ref = 'staking:mixed'`,
    [
      'not_balanced',
      'posted_differs',
      'history_differs',
      'funding_differs',
      'staking_credit_differs',
      'key_use_differs',
      'day_sum_differs',
    ],
    84n,
  ],
  [
    'staking credit of another customer',
    `UPDATE entry SET account = 'ada', credit = 'ada' WHERE ref = 'staking:mixed'`,
    ['posted_differs', 'history_differs', 'funding_differs', 'staking_credit_differs', 'day_sum_differs'],
    160n,
  ],
  [
    'a refund in two parts',
    `UPDATE entry SET amount = 40 WHERE ref = 'refund:bad';
      INSERT INTO entry (${copied}) SELECT ${copied} FROM entry WHERE ref = 'refund:bad'`,
    ['history_differs', 'charged_twice', 'refund_differs', 'day_sum_differs'],
    0n,
  ],
  [
    'a refund of no charge, of nothing',
    `INSERT INTO entry (id, kind, account, debit, credit, amount, posted_after, ref, line, request, created_at_ms)
      SELECT 'x', 'REFUND', id, 'system:revenue', id, 0, posted, 'refund:none', 0, 'none', 0 FROM account WHERE id = 'bob'`,
    ['refund_differs'],
    0n,
  ],
  [
    'staking credit that went back without a refund',
    `DELETE FROM entry WHERE ref = 'refund:back'`,
    ['not_balanced', 'posted_differs', 'history_differs', 'refund_differs', 'key_use_differs', 'day_sum_differs'],
    90n,
  ],
  ['a credit in lines', `UPDATE entry SET line = 1 WHERE ref = 'welcome'`, ['entry_misshapen'], 0n],
  [
    'a budget without its period',
    `UPDATE entry SET budget_start_ms = NULL WHERE request = 'mixed'`,
    ['entry_misshapen', 'key_use_differs'],
    120n,
  ],
  [
    'a budget of no key',
    `UPDATE entry SET api_key = NULL WHERE request = 'mixed'`,
    ['entry_misshapen', 'key_use_differs'],
    120n,
  ],
  ['two claims of one request', `UPDATE claim SET request = 'good'`, ['claim_differs'], 0n],
  ['a claim that is done without an answer', `DELETE FROM claim_answer`, ['claim_differs'], 0n],
  ['a claim that others paid for', `UPDATE claim SET account = 'ada'`, ['claim_differs'], 0n],
]
