import type { Refusal } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import {
  account,
  budget,
  by,
  capture,
  customer,
  extend,
  grant,
  hold,
  job,
  key,
  lease,
  ledger,
  nonce,
  payment,
  refund,
  release,
  renew,
  resume,
  revokeKey,
  secret,
  staked,
  suspend,
  topUp,
  wallet,
} from './sample-ops.ts'

export interface RefusalRule {
  rule: string
  /** Units that are applied first. */
  before: Op[][]
  ops: Op[]
  why: Refusal
  /** Index of the refused operation, 0 where it is not given. */
  op?: number
}

const funded = [account(), grant(10n, 'start')]
const charged = [[...funded, hold('h', 10n)], [capture('h', [4n], 'r')]]

const missing: RefusalRule[] = [
  { rule: 'a hold of a stranger', before: [], ops: [hold('h', 1n)], why: 'no_account' },
  { rule: 'credit for a stranger', before: [], ops: [grant(1n)], why: 'no_account' },
  { rule: 'a key for a stranger', before: [], ops: [key('k')], why: 'no_account' },
  { rule: 'a wallet for a stranger', before: [], ops: [wallet('0xab')], why: 'no_account' },
  { rule: 'a job of a stranger', before: [], ops: [job('j', null, 'queued', 0)], why: 'no_account' },
  { rule: 'revoking an unknown key', before: [], ops: [revokeKey('k')], why: 'no_key' },
  { rule: 'extending no hold', before: [funded], ops: [extend('h', 1n)], why: 'no_hold' },
  { rule: 'renewing no hold', before: [funded], ops: [renew('h')], why: 'no_hold' },
  { rule: 'capturing no hold', before: [funded], ops: [capture('h', [1n])], why: 'no_hold' },
  { rule: 'releasing no hold', before: [funded], ops: [release('h')], why: 'no_hold' },
  { rule: 'refunding what was never charged', before: [funded], ops: [refund('r')], why: 'nothing_to_refund' },
  { rule: 'moving an unknown job', before: [], ops: [job('j', 'queued', 'running', 1)], why: 'job_moved' },
  {
    rule: 'moving an unknown payment',
    before: [],
    ops: [payment('p', 'claimed', 'settling', 1)],
    why: 'payment_moved',
  },
]

const claimed = [[...funded, job('j', null, 'queued', 0), payment('p', null, 'claimed', 0)]]

const states: RefusalRule[] = [
  { rule: 'a hold id that is open', before: [[...funded, hold('h', 1n)]], ops: [hold('h', 1n)], why: 'hold_exists' },
  { rule: 'a hold id that was captured', before: charged, ops: [hold('h', 1n)], why: 'hold_exists' },
  {
    rule: 'a hold id that was released',
    before: [[...funded, hold('h', 1n), release('h')]],
    ops: [hold('h', 1n)],
    why: 'hold_exists',
  },
  {
    rule: 'a used hold id, before its funds are looked at',
    before: charged,
    ops: [hold('h', 99n)],
    why: 'hold_exists',
  },
  { rule: 'capturing twice', before: charged, ops: [capture('h', [1n], 's')], why: 'no_hold' },
  {
    rule: 'charging a request twice',
    before: [...charged, [hold('i', 5n)]],
    ops: [capture('i', [1n], 'r')],
    why: 'request_charged',
  },
  {
    rule: 'a charged request, before the amount is looked at',
    before: [...charged, [hold('i', 5n)]],
    ops: [capture('i', [9n], 'r')],
    why: 'request_charged',
  },
  {
    rule: 'renewing somebody else’s hold',
    before: [[...funded, hold('h', 1n)]],
    ops: [renew('h', lease(9, 'two'))],
    why: 'not_owner',
  },
  {
    rule: 'recovering a hold whose lease lives',
    before: [[...funded, hold('h', 1n, 'ada', lease(100))]],
    ops: [release('h', 99)],
    why: 'lease_live',
  },
  {
    rule: 'crediting a payment twice',
    before: [[...funded, topUp(5n, 'p')]],
    ops: [topUp(5n, 'p')],
    why: 'ref_exists',
  },
  { rule: 'refunding twice', before: [...charged, [refund('r')]], ops: [refund('r')], why: 'refunded' },
  { rule: 'a key id that is taken', before: [[...funded, key('k')]], ops: [key('k', 'other hash')], why: 'key_exists' },
  {
    rule: 'a key hash that is taken',
    before: [[...funded, key('k', 'same')]],
    ops: [key('l', 'same')],
    why: 'key_exists',
  },
  {
    rule: 'a wallet of another account',
    before: [[...funded, account('bob'), wallet('0xab')]],
    ops: [wallet('0xab', 'bob')],
    why: 'wallet_taken',
  },
  { rule: 'another mark in the place of one', before: [[secret(1)]], ops: [secret(1, 'b')], why: 'secret_moved' },
  { rule: 'a mark that leaves one out', before: [[secret(1)]], ops: [secret(3)], why: 'secret_moved' },
  { rule: 'a nonce that was used', before: [[nonce('n')]], ops: [nonce('n')], why: 'nonce_used' },
  {
    rule: 'a job id that is taken',
    before: claimed,
    ops: [job('j', null, 'queued', 0, { request: 'other' })],
    why: 'job_exists',
  },
  {
    rule: 'a request that has paid for a job',
    before: claimed,
    ops: [job('k', null, 'queued', 0, { request: 'request of j' })],
    why: 'job_exists',
  },
  { rule: 'a job in another state', before: claimed, ops: [job('j', 'running', 'completed', 1)], why: 'job_moved' },
  { rule: 'a job at another fence', before: claimed, ops: [job('j', 'queued', 'running', 2)], why: 'job_moved' },
  {
    rule: 'a payment key that is claimed',
    before: claimed,
    ops: [payment('p', null, 'claimed', 0)],
    why: 'payment_exists',
  },
  {
    rule: 'a payment in another state',
    before: claimed,
    ops: [payment('p', 'settling', 'credited', 1)],
    why: 'payment_moved',
  },
  {
    rule: 'a payment at another fence',
    before: claimed,
    ops: [payment('p', 'claimed', 'settling', 0)],
    why: 'payment_moved',
  },
]

const frozen = [[...funded, hold('h', 1n, 'ada', lease(100)), job('j', null, 'queued', 0)], [suspend()]]

const suspended: RefusalRule[] = [
  { rule: 'a hold of a suspended account', before: frozen, ops: [hold('i', 1n)], why: 'suspended' },
  { rule: 'a suspended account, before its credit', before: frozen, ops: [hold('i', 99n)], why: 'suspended' },
  {
    rule: 'a suspended account, before the state of the ledger',
    before: [...frozen, [ledger('read_only')]],
    ops: [hold('i', 1n)],
    why: 'suspended',
  },
  { rule: 'a used hold id, before the suspension', before: frozen, ops: [hold('h', 1n)], why: 'hold_exists' },
  {
    rule: 'a hold in the unit that suspends its account',
    before: [funded],
    ops: [suspend(), hold('i', 1n)],
    why: 'suspended',
    op: 1,
  },
  {
    rule: 'a hold with a budget of a suspended account',
    before: [[...funded, key('k', 'hash', 'ada', budget(5n))], [suspend()]],
    ops: [hold('i', 1n, 'ada', lease(), by('k'))],
    why: 'suspended',
  },
  {
    rule: 'staking credit of a suspended account',
    before: frozen,
    ops: [hold('i', 1n, 'ada', lease(), staked(5n))],
    why: 'suspended',
  },
  { rule: 'an extension for a suspended account', before: frozen, ops: [extend('h', 1n)], why: 'suspended' },
  { rule: 'a renewal for a suspended account', before: frozen, ops: [renew('h')], why: 'suspended' },
  {
    rule: 'somebody else’s hold, before its suspension',
    before: frozen,
    ops: [renew('h', lease(9, 'two'))],
    why: 'not_owner',
  },
  {
    rule: 'work on a job of a suspended account',
    before: frozen,
    ops: [job('j', 'queued', 'running', 1, { lease: lease() })],
    why: 'suspended',
  },
  { rule: 'suspending a stranger', before: [], ops: [suspend()], why: 'no_account' },
  { rule: 'resuming a stranger', before: [], ops: [resume()], why: 'no_account' },
  { rule: 'naming a stranger', before: [], ops: [customer({ name: 'Ada' })], why: 'no_account' },
]

const amounts: RefusalRule[] = [
  { rule: 'a hold above the credit', before: [funded], ops: [hold('h', 11n)], why: 'insufficient_funds' },
  {
    rule: 'a hold above what other holds leave',
    before: [[...funded, hold('h', 6n)]],
    ops: [hold('i', 5n)],
    why: 'insufficient_funds',
  },
  {
    rule: 'an extension above the credit',
    before: [[...funded, hold('h', 6n)]],
    ops: [extend('h', 5n)],
    why: 'insufficient_funds',
  },
  {
    rule: 'lines above the hold',
    before: [[...funded, hold('h', 6n)]],
    ops: [capture('h', [4n, 3n])],
    why: 'over_hold',
  },
]

const invalid: RefusalRule[] = [
  { rule: 'a negative hold', before: [funded], ops: [hold('h', -1n)], why: 'invalid' },
  { rule: 'a negative line', before: [[...funded, hold('h', 6n)]], ops: [capture('h', [7n, -3n])], why: 'invalid' },
  { rule: 'a credit of nothing', before: [funded], ops: [grant(0n)], why: 'invalid' },
  { rule: 'an amount above the bound', before: [funded], ops: [grant(10n ** 15n + 1n)], why: 'invalid' },
  { rule: 'a fraction of a millisecond', before: [funded], ops: [nonce('n', 0.5)], why: 'invalid' },
  { rule: 'a credit in the name of a charge', before: [funded], ops: [grant(1n, 'charge:r')], why: 'invalid' },
  { rule: 'a system account as a customer', before: [], ops: [account('system:grant')], why: 'invalid' },
  {
    rule: 'a job that changes hands',
    before: claimed,
    ops: [job('j', 'queued', 'running', 1, { account: 'bob' })],
    why: 'invalid',
  },
  { rule: 'a fresh job at another fence', before: [funded], ops: [job('j', null, 'queued', 1)], why: 'invalid' },
  { rule: 'a unit of nothing', before: [], ops: [], why: 'invalid', op: -1 },
]

/** A refused unit leaves nothing of the operations before the refused one either. */
const whole: RefusalRule[] = [
  {
    rule: 'all of a unit whose last operation is refused',
    before: [funded],
    ops: [account('bob'), grant(5n), nonce('n'), hold('h', 3n), capture('h', [2n]), hold('h', 1n)],
    why: 'hold_exists',
    op: 5,
  },
  {
    rule: 'a charge whose job is there already',
    before: claimed,
    ops: [hold('h', 3n), capture('h', [3n]), job('j', null, 'queued', 0)],
    why: 'job_exists',
    op: 2,
  },
  {
    rule: 'a refund whose job has moved',
    before: [...charged, [job('j', null, 'queued', 0)]],
    ops: [refund('r'), job('j', 'running', 'failed', 1)],
    why: 'job_moved',
    op: 1,
  },
  {
    rule: 'a credit whose payment has moved',
    before: claimed,
    ops: [topUp(5n, 'p'), payment('p', 'settling', 'credited', 1)],
    why: 'payment_moved',
    op: 1,
  },
]

export const refusals: RefusalRule[] = [...missing, ...states, ...suspended, ...amounts, ...invalid, ...whole]
