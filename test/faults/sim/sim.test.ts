import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Unit } from '#ledger/store/units.ts'
import { seeded } from '../seeded.ts'
import { runSeed } from './run-seed.ts'
import { replayOfSeed, shrunk } from './shrink.ts'
import { endOf } from './sim-run.ts'
import { simulate } from './simulate.ts'
import { type InterestingState, interestingStates, Sometimes } from './sometimes.ts'
import { toldFailure } from './tell-failure.ts'
import { VirtualTime } from './virtual-time.ts'

const order = (seed: number, steps: number) => ({ seed, steps, sometimes: new Sometimes() })

test('thirty lives of a service under faults break no rule of the ledger', { timeout: 300_000 }, async () => {
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
    return endOf({ seeds, steps: 200, failed: [], sometimes, tookMs: 1 }, '/tmp')
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

test('a failure is reported with the related trace lines and how to reproduce it', () => {
  const request = '01a22ee5-54a1-73dd-a68e-900142c769ef'
  const others = Array.from({ length: 100 }, (_, index) => `${index + 1} call-12 of others`)
  const trace = [
    'step 1 at 0 ms: chat: call-1 of ada',
    `5 call-1 is ${request}, with 200`,
    `7 ${request}/hold: ok`,
    ...others,
  ]
  const failure = { sentence: 'Not at rest: call-1 of ada since 0 ms.', step: 3, trace }
  expect(toldFailure({ seed: 9, steps: 4, failure, digest: '' }, '/tmp/seed-9.txt')).toEqual([
    'Seed 9, step 3: Not at rest: call-1 of ada since 0 ms.',
    `What its trace says of call-1, ${request}:`,
    ...trace.slice(0, 3).map(line => `  ${line}`),
    'The last 40 of its 103 lines, the others in /tmp/seed-9.txt:',
    ...others.slice(60).map(line => `  ${line}`),
    'Again with: npm run faults -- --sim 1 --seed 9 --steps 4',
  ])
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
    { timeout: 300_000 },
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

test('virtual time does not pass over what has been set going and is about to wait', async () => {
  const time = new VirtualTime(seeded(1, 'ties'))
  const ends: number[] = []
  const work = async () => {
    await null
    await time.wait(10)
    ends.push(time.nowMs)
  }
  void work()
  await time.runTo(20)
  expect(ends).toEqual([10])
})

test('what a service does on real time, where its seed has no say, is caught', async () => {
  const alterStore = (store: Store): Store => {
    const besideProcesses = AsyncLocalStorage.snapshot()
    const commit: Store['commit'] = units => {
      besideProcesses(() => setTimeout(() => undefined, 0))
      return store.commit(units)
    }
    return { ...altered(unit => unit)(store), commit }
  }
  const { failure } = await runSeed({ ...order(1, 5), alterStore })
  expect(failure?.sentence).toMatch(/^Outside of every process there was a timer \(test\/faults\/sim\/sim\.test\.ts\b/)
})

async function firstFailure(alterStore: (store: Store) => Store) {
  for (let seed = 1; ; seed++) {
    const result = await runSeed({ ...order(seed, 100), alterStore })
    if (result.failure || seed === 30) return result
  }
}
