/** What holds, captures and claims refuse beyond the plain credit of an account. */
import type { RefusalRule } from './refusal-rules.ts'
import {
  account,
  budget,
  by,
  capture,
  claim,
  covers,
  extend,
  grant,
  hold,
  key,
  keyBudget,
  lease,
  ledger,
  nowMs,
  release,
  revokeKey,
  staked,
} from './sample-ops.ts'

const funded = [account(), grant(10n, 'start')]
const keyed = [...funded, key('k'), key('small', 'hash of small', 'ada', budget(5n, 2n))]
const small = by('small')

const keys: RefusalRule[] = [
  { rule: 'a budget of an unknown key', before: [], ops: [keyBudget('k', budget(1n))], why: 'no_key' },
  { rule: 'a hold by an unknown key', before: [funded], ops: [hold('h', 1n, 'ada', lease(), by('k'))], why: 'no_key' },
  {
    rule: 'a hold by a key of another account',
    before: [[...keyed, account('bob'), grant(9n, 'bob', 'bob')]],
    ops: [hold('h', 1n, 'bob', lease(), by('k'))],
    why: 'no_key',
  },
  {
    rule: 'a hold by a revoked key',
    before: [[...keyed, revokeKey('k')]],
    ops: [hold('h', 1n, 'ada', lease(), by('k'))],
    why: 'no_key',
  },
  {
    rule: 'a hold above the budget of its key',
    before: [keyed],
    ops: [hold('h', 6n, 'ada', lease(), small)],
    why: 'over_budget',
  },
  {
    rule: 'a hold above what the other holds of its key leave',
    before: [[...keyed, hold('h', 3n, 'ada', lease(), small)]],
    ops: [hold('i', 3n, 'ada', lease(), small)],
    why: 'over_budget',
  },
  {
    rule: 'a hold above what its key has spent',
    before: [[...keyed, hold('h', 4n, 'ada', lease(), small), capture('h', [3n])]],
    ops: [hold('i', 3n, 'ada', lease(), small)],
    why: 'over_budget',
  },
  {
    rule: 'an extension above the budget of its key',
    before: [[...keyed, hold('h', 3n, 'ada', lease(), small)]],
    ops: [extend('h', 3n)],
    why: 'over_budget',
  },
  {
    rule: 'a hold above a budget that was lowered',
    before: [[...keyed, keyBudget('small', budget(1n))]],
    ops: [hold('h', 2n, 'ada', lease(), small)],
    why: 'over_budget',
  },
  {
    rule: 'the credit of the account, before the budget of the key',
    before: [keyed],
    ops: [hold('h', 11n, 'ada', lease(), small)],
    why: 'insufficient_funds',
  },
  {
    rule: 'staking credit above the share of its key, where USD does not cover the rest',
    before: [keyed],
    ops: [hold('h', 13n, 'ada', lease(), { ...small, ...staked(100n) })],
    why: 'insufficient_funds',
  },
]

/** A hold of a key with 5 micro-USD a day, of which it has 3, and which has another budget by now. */
const openWith = (now: ReturnType<typeof budget> | null) => [
  [...keyed, hold('h', 3n, 'ada', lease(), small), keyBudget('small', now)],
]
const asMade = { budget: budget(5n, 2n), expiresAtMs: null }
const used = [...keyed, hold('h', 3n, 'ada', lease(), small), capture('h', [2n]), hold('i', 1n, 'ada', lease(), small)]

const changes: RefusalRule[] = [
  ...(
    [
      ['another period', budget(9n, null, 'month')],
      ['no limit', budget(null)],
      ['no budget', null],
      ['a higher limit', budget(9n)],
    ] as const
  ).map(([now, to]): RefusalRule => {
    const rule = `an extension above the budget that its hold was opened with, where its key has ${now} by now`
    return { rule, before: openWith(to), ops: [extend('h', 3n)], why: 'over_budget' }
  }),
  {
    rule: 'an extension above a budget that was lowered since its hold was opened',
    before: openWith(budget(4n)),
    ops: [extend('h', 2n)],
    why: 'over_budget',
  },
  {
    rule: 'an extension above a lower budget of another period',
    before: openWith(budget(4n, null, 'month')),
    ops: [extend('h', 2n)],
    why: 'over_budget',
  },
  {
    rule: 'a budget that does not cover what its key has spent and holds',
    before: [used],
    ops: [keyBudget('small', budget(2n), covers)],
    why: 'over_budget',
  },
  {
    rule: 'a budget that does not cover the staking credit that its key holds',
    before: [[...keyed, hold('h', 2n, 'ada', lease(), { ...small, ...staked(9n) })]],
    ops: [keyBudget('small', budget(9n, 1n), covers)],
    why: 'over_budget',
  },
  ...(
    [
      ['has another limit', keyBudget('small', budget(4n, 2n))],
      ['has another period', keyBudget('small', budget(5n, 2n, 'month'))],
      ['has no budget', keyBudget('small', null)],
      ['has another end', keyBudget('small', budget(5n, 2n), { expiresAtMs: nowMs + 1 })],
      ['is revoked', revokeKey('small')],
    ] as const
  ).map(([by, moved]): RefusalRule => {
    const rule = `a change of a key that ${by} by now`
    const ops = [keyBudget('small', budget(1n), { before: asMade })]
    return { rule, before: [[...keyed, moved]], ops, why: 'key_moved' }
  }),
  {
    rule: 'an unknown key, before what it was',
    before: [funded],
    ops: [keyBudget('k', null, { before: asMade, ...covers })],
    why: 'no_key',
  },
  {
    rule: 'what a key was, before what it has used',
    before: [[...used, keyBudget('small', budget(4n))]],
    ops: [keyBudget('small', budget(2n), { before: asMade, ...covers })],
    why: 'key_moved',
  },
]

const sources: RefusalRule[] = [
  {
    rule: 'a hold above staking credit and USD together',
    before: [funded],
    ops: [hold('h', 16n, 'ada', lease(), staked(5n))],
    why: 'insufficient_funds',
  },
  {
    rule: 'staking credit that other holds of the day have taken',
    before: [[...funded, hold('h', 5n, 'ada', lease(), staked(5n))]],
    ops: [hold('i', 11n, 'ada', lease(), staked(5n))],
    why: 'insufficient_funds',
  },
  {
    rule: 'staking credit that is told as less than was used',
    before: [[...funded, hold('h', 5n, 'ada', lease(), staked(5n))]],
    ops: [hold('i', 11n, 'ada', lease(), staked(1n))],
    why: 'insufficient_funds',
  },
  {
    rule: 'an extension above staking credit and USD together',
    before: [[...funded, hold('h', 3n, 'ada', lease(), staked(5n))]],
    ops: [extend('h', 13n)],
    why: 'insufficient_funds',
  },
  {
    rule: 'one hold more than the account may have open',
    before: [[...funded, hold('h', 1n), hold('i', 1n)]],
    ops: [hold('j', 1n, 'ada', lease(), { mostOpen: 2 })],
    why: 'too_many_open',
  },
]

const endings: RefusalRule[] = [
  {
    rule: 'lines above hold and write-off',
    before: [[...funded, hold('h', 6n)]],
    ops: [capture('h', [9n], 'r', { writeOff: 2n })],
    why: 'over_hold',
  },
  {
    rule: 'a write-off above what was used',
    before: [[...funded, hold('h', 6n)]],
    ops: [capture('h', [2n], 'r', { writeOff: 3n })],
    why: 'invalid',
  },
  {
    rule: 'charging a hold for recovery whose lease lives',
    before: [[...funded, hold('h', 6n, 'ada', lease(100))]],
    ops: [capture('h', [2n], 'r', { onlyIfExpired: { atMs: 99 } })],
    why: 'lease_live',
  },
]

const claimed = [[...funded, claim('c', null, 'running', 0)]]
const done = [...claimed, [claim('c', 'running', 'done', 1, { answer: '{}' })]]

const claims: RefusalRule[] = [
  { rule: 'a claim of a stranger', before: [], ops: [claim('c', null, 'running', 0)], why: 'no_account' },
  { rule: 'a claim that runs', before: claimed, ops: [claim('c', null, 'running', 0)], why: 'claim_exists' },
  { rule: 'a claim that is done', before: done, ops: [claim('c', null, 'running', 0)], why: 'claim_exists' },
  { rule: 'a claim at another fence', before: claimed, ops: [claim('c', 'running', 'running', 2)], why: 'claim_moved' },
  { rule: 'giving up a claim that is done', before: done, ops: [claim('c', 'running', 'gone', 2)], why: 'claim_moved' },
  {
    rule: 'ending a claim twice',
    before: done,
    ops: [claim('c', 'running', 'done', 2, { answer: '{}' })],
    why: 'claim_moved',
  },
  { rule: 'an end without its answer', before: claimed, ops: [claim('c', 'running', 'done', 1)], why: 'invalid' },
  {
    rule: 'a claim that changes what was asked',
    before: claimed,
    ops: [claim('c', 'running', 'running', 1, { fingerprint: 'other' })],
    why: 'invalid',
  },
  { rule: 'a fresh claim at another fence', before: [funded], ops: [claim('c', null, 'running', 1)], why: 'invalid' },
  {
    rule: 'a charge whose claim has moved',
    before: [...done, [hold('h', 5n)]],
    ops: [capture('h', [3n]), claim('c', 'running', 'done', 1, { answer: '{}' })],
    why: 'claim_moved',
    op: 1,
  },
]

const standstill: RefusalRule[] = [
  {
    rule: 'a hold while the ledger is read-only',
    before: [[...funded, ledger('read_only')]],
    ops: [hold('h', 1n)],
    why: 'read_only',
  },
  {
    rule: 'an extension while the ledger is read-only',
    before: [[...funded, hold('h', 1n), ledger('read_only')]],
    ops: [extend('h', 1n)],
    why: 'read_only',
  },
  {
    rule: 'a used hold id, before the ledger’s state is looked at',
    before: [[...funded, hold('h', 1n), release('h'), ledger('read_only')]],
    ops: [hold('h', 1n)],
    why: 'hold_exists',
  },
]

const texts: RefusalRule[] = [
  { rule: 'a NUL in a name', before: [], ops: [account('a\0b')], why: 'invalid' },
  { rule: 'half a surrogate pair in a name', before: [], ops: [account('a\ud800')], why: 'invalid' },
]

export const fundRefusals: RefusalRule[] = [
  ...keys,
  ...changes,
  ...sources,
  ...endings,
  ...claims,
  ...standstill,
  ...texts,
]
