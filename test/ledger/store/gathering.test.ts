import { expect, test } from 'vitest'
import { gatherFromUnits, gatherMs } from '#ledger/bounds.ts'
import { Gathering } from '#ledger/store/batching.ts'

/** After a batch of so many units, so many wait. */
const cases: { rule: string; last: number; waiting: number; isUrgent?: boolean; waits: boolean }[] = [
  { rule: 'the first batch goes at once', last: 0, waiting: 1, waits: false },
  { rule: 'a single caller never waits for others', last: 1, waiting: 1, waits: false },
  { rule: 'after a small batch nothing waits', last: gatherFromUnits - 1, waiting: 1, waits: false },
  { rule: 'after a large batch a smaller one waits', last: gatherFromUnits, waiting: gatherFromUnits - 1, waits: true },
  { rule: 'as many as the last time go at once', last: 20, waiting: 20, waits: false },
  { rule: 'what is urgent waits for nothing', last: 20, waiting: 1, isUrgent: true, waits: false },
]

test.each(cases)('$rule', async ({ last, waiting, isUrgent = false, waits }) => {
  const { gathering, sent, timers } = gatheringWithTimers()
  gathering.sent(last)
  gathering.wait(waiting, isUrgent)
  await turn()
  expect(sent()).toBe(waits ? 0 : 1)
  expect(timers.map(({ ms }) => ms)).toEqual(waits ? [gatherMs] : [])
  timers[0]?.run()
  await turn()
  expect(sent()).toBe(1)
})

test('a batch that waits goes once it is as large as the last, and only once', async () => {
  const { gathering, sent, timers } = gatheringWithTimers()
  gathering.sent(10)
  for (const waiting of [3, 9, 10, 11]) gathering.wait(waiting, false)
  expect(timers).toHaveLength(1)
  await turn()
  expect(sent()).toBe(1)
})

function gatheringWithTimers() {
  let sends = 0
  const timers: { run: () => void; ms: number }[] = []
  const startTimer = (run: () => void, ms: number) => {
    timers.push({ run, ms })
    return setTimeout(() => undefined, 0)
  }
  return { gathering: new Gathering(() => sends++, startTimer), sent: () => sends, timers }
}

const turn = () => new Promise(resolve => setImmediate(() => setImmediate(resolve)))
