import { expect, test } from 'vitest'
import { Book } from './book.ts'
import type { Transfer } from './checks/chain-transfers.ts'
import { checkCharges, checkStrangers } from './checks/check-charges.ts'
import { checkJobs, checkJobsEnded } from './checks/check-jobs.ts'
import { checkAnswered, checkChainAtRest, checkChainInFlight, checkTopUps } from './checks/check-top-ups.ts'
import { Findings } from './checks/findings.ts'
import type { LedgerRows } from './checks/ledger-rows.ts'
import { seeded } from './seeded.ts'

interface World {
  book: Book
  rows: LedgerRows
  transfers: Transfer[]
}

/** One chat, one finished video, one top-up and one grant, all acknowledged and all in the books. */
function soundWorld(): World {
  const book = new Book()
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
  const signed = { wallet: '0xWALLET', header: '', validBeforeMs: 0, expired: false }
  book.topUps.push({ ...signed, nonce: '0x01', amountMicroUsd: 5_000_001n, acknowledged })
  const rows: LedgerRows = {
    charges: new Map([
      ['chat-1', { amount: 70n, refs: 1n }],
      ['job-1', { amount: 40_000n, refs: 1n }],
    ]),
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
  checkStrangers(book, rows, new Set(), findings)
  checkJobs(book, rows, findings)
  checkJobsEnded(rows, findings)
  checkTopUps(book, rows, transfers, findings)
  checkChainInFlight(rows, transfers, findings)
  checkChainAtRest(rows, transfers, findings)
  checkAnswered(book, transfers, findings)
  return findings
}

test('nothing is found where all is well', () => {
  expect(findingsIn(soundWorld())).toEqual(new Findings())
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
    damage: w => w.rows.charges.set('chat-1', { amount: 75n, refs: 1n }),
    lost: 5n,
    drift: 0n,
  },
  {
    what: 'a request charged twice',
    damage: w => w.rows.charges.set('chat-1', { amount: 70n, refs: 2n }),
    lost: 0n,
    drift: 0n,
  },
  {
    what: 'a refused request that was charged',
    damage: w => w.rows.charges.set('refused-1', { amount: 9n, refs: 1n }),
    lost: 9n,
    drift: 0n,
  },
  {
    what: 'a charge of nobody',
    damage: w => w.rows.charges.set('stranger', { amount: 9n, refs: 1n }),
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
  const world = soundWorld()
  damage(world)
  const findings = findingsIn(world)
  expect(findings.failures).not.toEqual([])
  expect([findings.lostMicroUsd, findings.driftMicroUsd]).toEqual([lost, drift])
})

test('a request that got no answer may have been charged once', () => {
  const world = soundWorld()
  world.rows.charges.set('stranger', { amount: 9n, refs: 1n })
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
