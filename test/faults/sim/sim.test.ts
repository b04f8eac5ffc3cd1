import { describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { Store } from '#service/store/store.ts'
import type { Unit } from '#service/store/units.ts'
import { runSeed } from './run-seed.ts'
import { replayOfSeed, shrunk } from './shrink.ts'
import { Sometimes } from './sometimes.ts'

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
