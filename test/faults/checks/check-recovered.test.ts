import { expect, onTestFinished, test, vi } from 'vitest'
import { aheadTokens, commitMs, lostMs, lostTokens } from '../bounds.ts'
import { LoadRecords } from '../load-records.ts'
import { brokenStream } from '../loads/broken-stream.ts'
import { checkBroken, checkDeadHolds, recoveredShare } from './check-recovered.ts'
import { Findings } from './findings.ts'
import type { ChargeRow, HoldRow } from './ledger-rows.ts'

const charge = (request: string, amount: bigint): [string, ChargeRow] => {
  const plain = { account: 'customer', apiKey: null, refs: 1n, staking: 0n, stakingDayMs: null, atMs: 0 }
  return [request, { request, amount, usd: amount, ...plain }]
}

/** Cut by a kill: a stream with a checkpoint, one before its first, and one whose charge had been committed. */
function intactWorld() {
  const book = new LoadRecords()
  book.broken.set('cut-1', { leastTokens: 30, mostTokens: 90, bodyBytes: 100 })
  book.broken.set('cut-2', { leastTokens: 0, mostTokens: 20, bodyBytes: 100 })
  const dead = { heldMicroUsd: 500n, owedMicroUsd: null, chargedMicroUsd: 0n }
  book.deadHolds.set('cut-1', { ...dead, request: 'cut-1', owedMicroUsd: 50n })
  book.deadHolds.set('cut-2', { ...dead, request: 'cut-2' })
  book.deadHolds.set('cut-3', { ...dead, request: 'cut-3', owedMicroUsd: 20n, chargedMicroUsd: 25n })
  const charges = new Map([charge('whole', 70n), charge('cut-1', 50n), charge('cut-3', 25n)])
  const rows = {
    charges,
    holds: [] as HoldRow[],
    claims: new Map(),
    refunds: new Map(),
    grants: new Map(),
    topUps: [],
    payments: new Map(),
    jobs: new Map(),
  }
  return { book, rows }
}

type World = ReturnType<typeof intactWorld>

/** A token of the answer costs one micro-USD, a token of the prompt a quarter. */
const price = { inputPicoUsd: 250_000n, outputPicoUsd: 1_000_000n }

function findingsIn({ book, rows }: World, areShared = false): Findings {
  const findings = new Findings()
  checkDeadHolds(book, rows, areShared, findings)
  checkBroken(book, rows, price, findings)
  return findings
}

const open: HoldRow = { id: 'cut-1', leaseUntilMs: 0, amount: 500n, owed: { request: 'cut-1', amount: 50n } }

test('nothing is found where recovery has charged each checkpoint once', () => {
  expect(findingsIn(intactWorld())).toEqual(new Findings())
})

const damages: [what: string, damage: (world: World) => void, lost: bigint][] = [
  [
    'a checkpoint that was not charged',
    ({ book, rows }) => {
      book.broken.clear()
      rows.charges.delete('cut-1')
    },
    50n,
  ],
  [
    'a checkpoint that was charged three times',
    ({ book, rows }) => {
      book.broken.clear()
      rows.charges.set(...charge('cut-1', 150n))
    },
    100n,
  ],
  ['a charge without a checkpoint', ({ rows }) => rows.charges.set(...charge('cut-2', 7n)), 7n],
  ['a charge on top of one from before the kill', ({ rows }) => rows.charges.set(...charge('cut-3', 45n)), 20n],
  ['a hold that the next start left open', ({ rows }) => rows.holds.push(open), 0n],
  [
    'less than was delivered well before the kill',
    ({ book, rows }) => {
      book.deadHolds.clear()
      rows.charges.set(...charge('cut-1', 29n))
    },
    1n,
  ],
  [
    'more than can have been made',
    ({ book, rows }) => {
      book.deadHolds.clear()
      rows.charges.set(...charge('cut-1', 117n))
    },
    1n,
  ],
]

test.each(damages)('%s is found', (_what, damage, lost) => {
  const world = intactWorld()
  damage(world)
  const findings = findingsIn(world)
  expect(findings.failures).toHaveLength(1)
  expect(findings.lostMicroUsd).toBe(lost)
})

test('on a shared ledger a dead hold may stay open until its lease has lapsed', () => {
  const world = intactWorld()
  world.rows.charges.delete('cut-1')
  world.rows.holds.push(open)
  expect(findingsIn(world, true).failures).toEqual([])
})

test('the share of recovery counts charges of checkpoints, and none from before the kill or an earlier run', () => {
  const { book, rows } = intactWorld()
  expect(recoveredShare(book, rows, new Set(['whole']))).toEqual([1, 2])
})

test('a broken stream owes what came well before its break, but for the tokens between two checkpoints', () => {
  const brokeAtMs = 100_000
  const piece = (beforeMs: number, words: number) => ({ atMs: brokeAtMs - beforeMs, text: ' so'.repeat(words) })
  const [early, late, last] = [piece(lostMs, 100), piece(commitMs, 400), piece(0, 50)]
  const broke = { atMs: brokeAtMs, bodyBytes: 9, slowestMs: 0 }
  const slow = brokenStream([early, last], broke)
  expect(slow).toEqual({ leastTokens: 100, mostTokens: 150 + aheadTokens, bodyBytes: 9 })
  expect(brokenStream([early, late, last], broke).leastTokens).toBe(500 - lostTokens)
  // On a machine where whole chats take longer than commits may.
  expect(brokenStream([early, last], { ...broke, slowestMs: commitMs + 1 }).leastTokens).toBe(0)
})

test('a broken stream owes at most all that its reader received, even after the kill, and what was on its way', () => {
  const [before, after] = [
    { atMs: 1_000, text: ' so'.repeat(20) },
    { atMs: 2_500, text: ' so'.repeat(30) },
  ]
  const broke = { atMs: 2_000, bodyBytes: 9, slowestMs: commitMs + 1_500 }
  expect(brokenStream([before, after], broke).mostTokens).toBe(50 + aheadTokens)
})

test('the slowest chat is one that was slow around the break, or still had no answer', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 0 })
  onTestFinished(() => void vi.useRealTimers())
  const book = new LoadRecords()
  const chat = (ms: number) => {
    const ended = book.beginChat()
    vi.advanceTimersByTime(ms)
    ended()
  }
  chat(commitMs - 1)
  expect(book.slowestChat(Date.now())).toEqual({ slowestMs: 0 })
  chat(commitMs)
  expect(book.slowestChat(Date.now())).toEqual({ slowestMs: commitMs })
  vi.advanceTimersByTime(lostMs)
  expect(book.slowestChat(Date.now())).toEqual({ slowestMs: 0 })
  book.beginChat()
  vi.advanceTimersByTime(9_000)
  expect(book.slowestChat(Date.now())).toEqual({ slowestMs: 9_000 })
})
