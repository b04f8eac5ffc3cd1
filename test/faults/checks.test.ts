import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { claimId } from '#service/http/idempotency/replayed-answer.ts'
import type { Transfer } from './checks/chain-transfers.ts'
import {
  checkBudgets,
  checkCharges,
  checkJobs,
  checkJobsEnded,
  checkKeyed,
  checkStaking,
  checkUnknownCharges,
} from './checks/check-ledger.ts'
import { checkAnswered, checkChainAtRest, checkChainInFlight, checkTopUps } from './checks/check-top-ups.ts'
import { Findings } from './checks/findings.ts'
import { type ChargeRow, dayMs, type LedgerRows } from './checks/ledger-rows.ts'
import { LoadRecords, type SignedTopUp } from './load-records.ts'
import { seeded } from './seeded.ts'

interface World {
  book: LoadRecords
  rows: LedgerRows
  transfers: Transfer[]
}

const noon = dayMs / 2

const charge = (request: string, amount: bigint, more: Partial<ChargeRow> = {}): [string, ChargeRow] => {
  const plain = { account: 'customer', apiKey: null, refs: 1n, staking: 0n, stakingDayMs: null, atMs: noon }
  return [request, { request, amount, usd: amount - (more.staking ?? 0n), ...plain, ...more }]
}

const claim = (key: string) => claimId('keyed', createChatCompletion, key)
const wallet = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const staker = { account: `wallet:${wallet.address.toLowerCase()}`, stakingDayMs: 0 }

/** A call under a key, two by a key with a budget, and two by a wallet that stakes: the second one pays USD beside. */
function boundedWork(book: LoadRecords): { charges: [string, ChargeRow][]; claims: LedgerRows['claims'] } {
  book.keyedCaller = { keyId: 'keyed-key', account: 'keyed' }
  const keyed = { key: 'again', kind: 'keyed chat', body: {}, sent: 1, underWay: 0, wasCut: false } as const
  book.keyed.push({ ...keyed, acknowledged: { body: '{}', costMicroUsd: 60n } })
  const budget = {
    key: '',
    keyId: 'small',
    spentMicroUsd: 0n,
    sent: 0,
    underWay: 0,
    unknown: 0,
    isUsedUp: false,
  } as const
  book.budgetKeys.push({ ...budget, period: 'lifetime', limitMicroUsd: 100n })
  book.budgetKeys.push({ ...budget, keyId: 'daily', period: 'epoch', limitMicroUsd: 50n })
  const topUp: SignedTopUp = book.topUps[0] ?? signed
  book.stakers.push({ wallet, dailyMicroUsd: 100n, topUp, isBusy: false, unknownAtMs: [] })
  const charges = [
    charge('keyed-1', 60n, { account: 'keyed', apiKey: 'keyed-key' }),
    charge('small-1', 40n, { apiKey: 'small' }),
    charge('small-2', 60n, { apiKey: 'small', atMs: noon + dayMs }),
    charge('daily-1', 50n, { apiKey: 'daily' }),
    charge('daily-2', 50n, { apiKey: 'daily', atMs: noon + dayMs }),
    charge('staked-1', 70n, { ...staker, staking: 70n }),
    charge('staked-2', 70n, { ...staker, staking: 30n }),
  ]
  for (const [request, { apiKey, amount, staking }] of charges.slice(1)) {
    book.charge('chat', request, amount)
    if (apiKey) book.budgeted.set(request, apiKey)
    else book.staking.set(request, staking)
  }
  return { charges, claims: new Map([[claim('again'), { state: 'done', request: 'keyed-1' }]]) }
}

const signed: SignedTopUp = {
  kind: 'top-up',
  wallet: '0xWALLET',
  nonce: '0x01',
  amountMicroUsd: 5_000_001n,
  header: '',
  validBeforeMs: 0,
  expired: false,
  acknowledged: null,
}

/** One chat, one finished video, one top-up and one grant, all acknowledged and all in the ledger, beside the bounded work. */
function intactWorld(): World {
  const book = new LoadRecords()
  book.charge('chat', 'chat-1', 70n)
  book.charge('video queue', 'job-1', 40_000n)
  const job = {
    requestId: 'job-1',
    model: 'demo-video',
    key: 'key',
    quoteMicroUsd: 40_000n,
    file: null,
    completed: true,
  }
  book.jobs.set('job-1', job)
  book.refused.set('refused-1', 402)
  book.grants.set('customer', 500n)
  const acknowledged = { body: '{}', transaction: '0xaa', newBalanceMicroUsd: 5_000_001n }
  book.topUps.push({ ...signed, acknowledged })
  const { charges, claims } = boundedWork(book)
  const rows: LedgerRows = {
    charges: new Map([charge('chat-1', 70n), charge('job-1', 40_000n), ...charges]),
    claims,
    refunds: new Map(),
    grants: new Map([['customer', 500n]]),
    topUps: [{ nonce: '0x01', amount: 5_000_001n, postedAfter: 5_000_001n, transaction: '0xaa' }],
    payments: new Map([['0x01', { state: 'credited', amount: 5_000_001n, leaseUntilMs: null }]]),
    jobs: new Map([['job-1', { state: 'completed', request: 'job-1' }]]),
    holds: [],
  }
  return { book, rows, transfers: [{ nonce: '0x01', from: '0xwallet', amount: 5_000_001n, transaction: '0xaa' }] }
}

function findingsIn({ book, rows, transfers }: World): Findings {
  const findings = new Findings()
  checkCharges(book, rows, findings)
  checkUnknownCharges(book, rows, new Set(), findings)
  checkKeyed(book, rows, findings)
  checkBudgets(book, rows, findings)
  checkStaking(book, rows, new Set(), findings)
  checkJobs(book, rows, findings)
  checkJobsEnded(rows, findings)
  checkTopUps(book, rows, transfers, findings)
  checkChainInFlight(rows, transfers, findings)
  checkChainAtRest(rows, transfers, findings)
  checkAnswered(book, transfers, findings)
  return findings
}

test('nothing is found where all is well', () => {
  expect(findingsIn(intactWorld())).toEqual(new Findings())
})

const state = (world: World, to: string) =>
  world.rows.payments.set('0x01', { state: to, amount: 5n, leaseUntilMs: null })

interface Damage {
  what: string
  damage: (world: World) => unknown
  lost: bigint
  drift: bigint
}

const damages: Damage[] = [
  { what: 'a lost charge', damage: w => w.rows.charges.delete('chat-1'), lost: 70n, drift: 0n },
  {
    what: 'a charge of another amount',
    damage: w => w.rows.charges.set(...charge('chat-1', 75n)),
    lost: 5n,
    drift: 0n,
  },
  {
    what: 'a request charged twice',
    damage: w => w.rows.charges.set(...charge('chat-1', 70n, { refs: 2n })),
    lost: 0n,
    drift: 0n,
  },
  {
    what: 'a refused request that was charged',
    damage: w => w.rows.charges.set(...charge('refused-1', 9n)),
    lost: 9n,
    drift: 0n,
  },
  {
    what: 'a charge of nobody',
    damage: w => w.rows.charges.set(...charge('stranger', 9n)),
    lost: 0n,
    drift: 0n,
  },
  { what: 'a lost grant', damage: w => w.rows.grants.clear(), lost: 500n, drift: 0n },
  { what: 'a lost job', damage: w => w.rows.jobs.clear(), lost: 0n, drift: 0n },
  {
    what: 'a finished job that runs again',
    damage: w => w.rows.jobs.set('job-1', { state: 'running', request: 'job-1' }),
    lost: 0n,
    drift: 0n,
  },
  {
    what: 'a failed job that was not paid back',
    damage: w => {
      w.book.jobs.clear()
      w.rows.jobs.set('job-1', { state: 'failed', request: 'job-1' })
    },
    lost: 40_000n,
    drift: 0n,
  },
  { what: 'a lost credit', damage: w => w.rows.topUps.pop(), lost: 5_000_001n, drift: 5_000_001n },
  { what: 'a credit for which nothing came', damage: w => w.transfers.pop(), lost: 0n, drift: 5_000_001n },
  {
    what: 'a payment credited twice',
    damage: w => w.rows.topUps.push(...w.rows.topUps),
    lost: 0n,
    drift: 5_000_001n,
  },
  { what: 'a payment that never ends', damage: w => state(w, 'settling'), lost: 0n, drift: 0n },
  {
    what: 'money that came and was rejected',
    damage: w => {
      w.rows.topUps.pop()
      w.book.topUps.length = 0
      state(w, 'rejected')
    },
    lost: 0n,
    drift: 5_000_001n,
  },
  {
    what: 'a repeat under a key that was charged again',
    damage: w => {
      // A lost answer of any other call must not hide it.
      w.book.unanswered.chat = 1
      w.rows.charges.set(...charge('again-2', 60n, { account: 'keyed', apiKey: 'keyed-key' }))
    },
    lost: 60n,
    drift: 0n,
  },
  {
    what: 'an answer under a key whose claim is gone',
    damage: w => w.rows.claims.clear(),
    // The answer that lost its charge, and the charge that lost its answer.
    lost: 120n,
    drift: 0n,
  },
  {
    what: 'an answer under a key that was charged with another amount',
    damage: w => w.rows.charges.set(...charge('keyed-1', 61n, { account: 'keyed', apiKey: 'keyed-key' })),
    lost: 1n,
    drift: 0n,
  },
  {
    what: 'a key that was charged beyond its budget',
    damage: w => {
      w.book.unanswered.chat = 1
      w.rows.charges.set(...charge('small-3', 1n, { apiKey: 'small', atMs: noon + 2 * dayMs }))
    },
    lost: 0n,
    drift: 0n,
  },
  {
    what: 'a key that was charged beyond the budget of a day',
    damage: w => {
      w.book.unanswered.chat = 1
      w.rows.charges.set(...charge('daily-3', 1n, { apiKey: 'daily' }))
    },
    lost: 0n,
    drift: 0n,
  },
  {
    what: 'a charge that names no key with a budget',
    damage: w => w.rows.charges.set(...charge('small-1', 40n)),
    lost: 0n,
    drift: 0n,
  },
  {
    what: 'staking credit that was told and did not pay',
    damage: w => w.rows.charges.set(...charge('staked-1', 70n, { account: staker.account })),
    lost: 70n,
    drift: 0n,
  },
  {
    what: 'USD that paid before staking credit was used up',
    damage: w => {
      w.book.staking.set('staked-1', 60n)
      w.rows.charges.set(...charge('staked-1', 70n, { ...staker, staking: 60n }))
    },
    lost: 0n,
    drift: 0n,
  },
  {
    what: "staking credit beyond the day's",
    damage: w => {
      w.book.staking.set('staked-2', 31n)
      w.rows.charges.set(...charge('staked-2', 70n, { ...staker, staking: 31n }))
    },
    lost: 0n,
    drift: 0n,
  },
  {
    what: 'staking credit of another day',
    damage: w => w.rows.charges.set(...charge('staked-2', 70n, { ...staker, staking: 30n, stakingDayMs: -dayMs })),
    lost: 0n,
    drift: 0n,
  },
  {
    what: 'staking credit of who has staked nothing',
    damage: w => w.rows.charges.set(...charge('chat-1', 70n, { staking: 70n, stakingDayMs: 0 })),
    lost: 0n,
    drift: 0n,
  },
  {
    what: 'a payment called expired that landed',
    damage: w => Object.assign(w.book.topUps[0] ?? {}, { acknowledged: null, expired: true }),
    lost: 5_000_001n,
    drift: 0n,
  },
  {
    what: 'a payment that is never acknowledged',
    damage: w => Object.assign(w.book.topUps[0] ?? {}, { acknowledged: null }),
    lost: 0n,
    drift: 0n,
  },
]

test.each(damages)('$what is found', ({ damage, lost, drift }) => {
  const world = intactWorld()
  damage(world)
  const findings = findingsIn(world)
  expect(findings.failures).not.toEqual([])
  expect([findings.lostMicroUsd, findings.driftMicroUsd]).toEqual([lost, drift])
})

test('a request that got no answer may have charged it once', () => {
  const world = intactWorld()
  world.rows.charges.set(...charge('stranger', 9n))
  world.book.unanswered.chat = 1
  expect(findingsIn(world).failures).toEqual([])
})

test('a seed and a name repeat their draws, and another name draws others', () => {
  const draws = (seed: number, name: string) => {
    const { below } = seeded(seed, name)
    return Array.from({ length: 20 }, () => below(1_000))
  }
  expect(draws(7, 'kill')).toEqual(draws(7, 'kill'))
  expect(draws(7, 'kill')).not.toEqual(draws(7, 'chat'))
  expect(draws(7, 'kill')).not.toEqual(draws(8, 'kill'))
})

test('what a killed process had written down may be charged before its answer, and what it has held is not there for USD', () => {
  const world = intactWorld()
  Object.assign(world.book.keyed[0] ?? {}, { wasCut: true, acknowledged: { body: '{}', costMicroUsd: 0n } })
  world.book.staking.set('staked-1', 60n)
  world.rows.charges.set(...charge('staked-1', 70n, { ...staker, staking: 60n }))
  world.book.stakers[0]?.unknownAtMs.push(noon - 1_000)
  expect(findingsIn(world).failures).toEqual([])
})
