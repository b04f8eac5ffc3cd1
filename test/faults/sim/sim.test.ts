import { describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { Store } from '#service/store/store.ts'
import type { Unit } from '#service/store/units.ts'
import { runSeed } from './run-seed.ts'
import { replayOfSeed, shrunk } from './shrink.ts'
import { endOf } from './sim-run.ts'
import { simulate } from './simulate.ts'
import { type InterestingState, interestingStates, Sometimes } from './sometimes.ts'

const order = (seed: number, steps: number) => ({ seed, steps, sometimes: new Sometimes() })

test('thirty lives of a service under faults break no rule of the books', { timeout: 120_000 }, async () => {
  const failures: string[] = []
  for (let seed = 1; seed <= 30; seed++) {
    const { failure, steps } = await runSeed(order(seed, 100))
    if (failure) failures.push(`${failure.sentence} ${replayOfSeed({ seed, steps })}`)
  }
  expect(failures).toEqual([])
})

describe('a seed', () => {
  test('gives the same life each time, and another one gives another', async () => {
    const [first, again, other] = [
      await runSeed(order(7, 60)),
      await runSeed(order(7, 60)),
      await runSeed(order(8, 60)),
    ]
    expect(again.digest).toBe(first.digest)
    expect(other.digest).not.toBe(first.digest)
  })
})

describe('a run', () => {
  const report = (seeds: number, reached: readonly InterestingState[]) => {
    const sometimes = new Sometimes()
    for (const state of reached) sometimes.reached(state)
    return endOf({ seeds, steps: 200, failed: [], sometimes, tookMs: 1 })
  }
  const allButOne = interestingStates.filter(state => state !== 'a read failed')

  test.each<[string, number, readonly InterestingState[], boolean]>([
    ['that is long and has been in every state is well', 500, interestingStates, true],
    ['that is long and misses one state fails', 500, allButOne, false],
    ['that is short need not have seen everything', 499, [], true],
  ])('%s', (_, seeds, reached, isWell) => {
    const end = report(seeds, reached)
    expect(end.isWell).toBe(isWell)
    if (!isWell) expect(end.lines).toContain('✗ never reached: a read failed')
  })

  test('on threads finds what it finds without', async () => {
    const { failed, sometimes } = await simulate({ seeds: 2, firstSeed: 7, steps: 20 })
    const alone = new Sometimes()
    for (const seed of [7, 8]) await runSeed({ seed, steps: 20, sometimes: alone })
    expect(failed).toEqual([])
    expect(sometimes.counts).toEqual(alone.counts)
  })
})

/** The store as a release with a mistake in it would use it. */
const altered =
  (alter: (unit: Unit) => Unit) =>
  (store: Store): Store => ({
    read: store.read,
    soleOwner: store.soleOwner,
    prune: (slice, rows) => store.prune(slice, rows),
    close: () => store.close(),
    commit: units => store.commit(units.map(alter)),
  })

const mistakes: [string, (unit: Unit) => Unit, RegExp][] = [
  [
    'forgets to end a hold',
    unit => ({
      ...unit,
      ops: unit.ops.map(op => {
        if (op.op !== 'release') return op
        return { op: 'nonce', key: op.hold, expiresAtMs: 0 }
      }),
    }),
    /Not at rest/,
  ],
  [
    'credits one micro-USD too much',
    unit => ({
      ...unit,
      ops: unit.ops.map(op => (op.op === 'credit' ? { ...op, amount: microUsd(op.amount + 1n) } : op)),
    }),
    /was credited/,
  ],
  [
    'fails a job without giving its charge back',
    unit => ({ ...unit, ops: unit.ops.filter(op => op.op !== 'refund') }),
    /has its charge back/,
  ],
]

describe('a release that', () => {
  test.each(mistakes)(
    '%s is caught, and its seed alone finds the mistake again',
    { timeout: 60_000 },
    async (_, alter, rule) => {
      const alterStore = altered(alter)
      const found = await firstFailure(alterStore)
      expect(found.failure?.sentence).toMatch(rule)
      const least = await shrunk({ seed: found.seed, sometimes: new Sometimes(), alterStore }, found)
      expect(least.steps).toBeLessThanOrEqual(found.steps)
      const told = /--seed (\d+) --steps (\d+)$/.exec(replayOfSeed(least))
      const again = await runSeed({ ...order(Number(told?.[1]), Number(told?.[2])), alterStore })
      expect(again).toEqual(least)
    },
  )
})

async function firstFailure(alterStore: (store: Store) => Store) {
  for (let seed = 1; ; seed++) {
    const result = await runSeed({ ...order(seed, 100), alterStore })
    if (result.failure || seed === 30) return result
  }
}
