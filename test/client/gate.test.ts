import { afterEach, expect, test } from 'vitest'
import type { ClientError } from '#client/client-error.ts'
import {
  believedResetMs,
  breakerCeiling,
  breakerFailures,
  breakerWindowMs,
  mostAtOnce,
  probePauseMs,
  turnLifeMs,
  turnPauseMs,
} from '#client/limits.ts'
import type { FlightEnd } from '#client/pace/breaker.ts'
import { Gate, type Passage } from '#client/pace/gate.ts'
import { InFlightLimit } from '#client/pace/in-flight-limit.ts'
import type { LimitWindow } from '#client/pace/limiter.ts'
import { memorySharedNotes, type SharedNotes } from '#client/pace/shared-notes.ts'
import { WaitBudget } from '#client/retry/retry.ts'
import { VirtualTime } from './virtual-time.ts'

const stops: AbortController[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort()
})

/** One process of a caller, and what it got so far. */
function processOf(
  time: VirtualTime,
  notes: SharedNotes,
  { atOnce = mostAtOnce, caller = 'https://s.example me' } = {},
) {
  const turns = new InFlightLimit(time, atOnce)
  const gate = new Gate({ notes, turns, clock: time, caller, random: () => 0 })
  const stop = new AbortController()
  stops.push(stop)
  const passages: Passage[] = []
  const refusals: unknown[] = []
  const enter = (count = 1, { bucket = 'text m', budgetMs = 60_000 } = {}) => {
    for (let at = 0; at < count; at++) {
      const budget = new WaitBudget({ clock: time, ms: budgetMs, pause: time.pause, signal: stop.signal })
      gate.enter(bucket, budget).then(
        passage => passages.push(passage),
        error => refusals.push(error),
      )
    }
  }
  const end = (how: FlightEnd, window: LimitWindow | null = null) => {
    const passage = passages.shift()
    passage?.ended({ end: how, window })
    passage?.left()
  }
  return { turns, gate, enter, end, passages, refusals, stop, soon: (ms = 0) => time.runUntil(time.now() + ms) }
}

const windowOf = (time: VirtualTime, more: Partial<LimitWindow>): LimitWindow => ({
  requestsLimit: 20,
  requestsLeft: 19,
  requestsResetAtMs: time.now() + 30_000,
  tokensLimit: null,
  tokensLeft: null,
  tokensResetAtMs: null,
  seenAtMs: time.now(),
  ...more,
})

function twoProcesses() {
  const time = new VirtualTime()
  const notes = { ...memorySharedNotes(), close: () => {} }
  return { time, one: processOf(time, notes), other: processOf(time, notes) }
}

/** Three processes that share notes, of which one can die. */
function mortalProcesses() {
  const time = new VirtualTime()
  const shared = { ...memorySharedNotes(), close: () => {} }
  const dead = new Set<string>()
  const named = (name: string) =>
    processOf(time, { ...shared, owner: { name, mayRun: (other: string) => !dead.has(other) } })
  return { time, dead, one: named('one'), mortal: named('mortal'), late: named('late') }
}

test('a few calls of a process that has died are free at once', async () => {
  const { one, mortal, late, dead } = mortalProcesses()
  mortal.enter(4)
  one.enter(breakerCeiling - 4)
  await one.soon()
  late.enter()
  await late.soon(5_000)
  expect([one.passages.length, late.passages.length]).toEqual([breakerCeiling - 4, 0])
  dead.add('mortal')
  await late.soon(turnPauseMs)
  expect(late.passages).toHaveLength(1)
})

test('many calls of a process that has died count as long as failures do, and no longer', async () => {
  const { one, mortal, late, dead } = mortalProcesses()
  mortal.enter(16)
  one.enter(breakerCeiling - 16)
  await one.soon()
  dead.add('mortal')
  late.enter()
  await late.soon(breakerWindowMs - 1_000)
  expect(late.passages).toHaveLength(0)
  await late.soon(1_000 + turnPauseMs)
  expect([late.passages.length, late.refusals.length]).toEqual([1, 0])
})

test('a probe of a process that has died is another one’s', async () => {
  const { time, one, mortal, late, dead } = mortalProcesses()
  for (let count = 0; count < breakerFailures; count++) {
    one.enter()
    await one.soon()
    one.end('failed')
  }
  await one.soon(breakerWindowMs)
  mortal.enter()
  await mortal.soon()
  expect(mortal.passages).toHaveLength(1)
  late.enter()
  await late.soon()
  expect(late.refusals).toMatchObject([{ kind: 'breaker-open' }])
  dead.add('mortal')
  late.enter()
  await late.soon()
  expect(late.refusals.at(-1)).toMatchObject({ retryAtMs: time.now() + probePauseMs })
  await late.soon(probePauseMs)
  late.enter()
  await late.soon()
  expect(late.passages).toHaveLength(1)
})

test('what a process sent that has died has taken its part of the window', async () => {
  const { time, one, mortal, late, dead } = mortalProcesses()
  one.enter()
  await one.soon()
  one.end('succeeded', windowOf(time, { requestsLeft: 2 }))
  mortal.enter()
  await mortal.soon()
  dead.add('mortal')
  late.enter(2)
  await late.soon(5_000)
  expect(late.passages).toHaveLength(1)
})

test('after a refusal to one process, the other waits too: nothing is sent before the reset', async () => {
  const { time, one, other } = twoProcesses()
  one.enter()
  await one.soon()
  one.end('succeeded', windowOf(time, { requestsLeft: 0 }))
  other.enter()
  await other.soon(29_999)
  expect(other.passages).toHaveLength(0)
  await other.soon(1)
  expect(other.passages).toHaveLength(1)
})

test('what one process has sent since counts for the other', async () => {
  const { time, one, other } = twoProcesses()
  one.enter()
  await one.soon()
  one.end('succeeded', windowOf(time, { requestsLeft: 2 }))
  one.enter()
  other.enter(2)
  await one.soon(1_000)
  expect([one.passages.length, other.passages.length]).toEqual([1, 1])
})

test('another model, and another caller, have windows of their own', async () => {
  const { time, one, other } = twoProcesses()
  one.enter()
  await one.soon()
  one.end('succeeded', windowOf(time, { requestsLeft: 0 }))
  other.enter(1, { bucket: 'text another' })
  await other.soon()
  expect(other.passages).toHaveLength(1)
})

test('a wait beyond the budget fails at once, with the time', async () => {
  const { time, one } = twoProcesses()
  one.enter()
  await one.soon()
  one.end('failed', windowOf(time, { requestsLeft: 0 }))
  one.enter(1, { budgetMs: 29_999 })
  await one.soon()
  expect(one.refusals).toMatchObject([{ kind: 'limit-reached', wasSent: false, retryAtMs: time.now() + 30_000 }])
})

test('an abort ends a wait', async () => {
  const { time, one } = twoProcesses()
  one.enter()
  await one.soon()
  one.end('failed', windowOf(time, { requestsLeft: 0 }))
  one.enter()
  await one.soon()
  one.stop.abort()
  await one.soon()
  expect(one.refusals).toMatchObject([{ name: 'AbortError' }])
})

test.each([
  ['unanswered', /did not answer/, { kind: 'no-answer' }],
  ['failed', /have failed/, undefined],
] as const)('what holds a request back after calls that %s is said by the error', async (end, message, cause) => {
  const { one, other } = twoProcesses()
  for (let count = 0; count < breakerFailures; count++) {
    one.enter()
    await one.soon()
    one.end(end)
  }
  other.enter()
  await other.soon()
  const [error] = other.refusals as ClientError[]
  expect(error).toMatchObject({ kind: 'breaker-open', message: expect.stringMatching(message) })
  expect(error?.cause).toEqual(cause && expect.objectContaining(cause))
})

test('failures of one process open the breaker of the other, and one probe of the two goes', async () => {
  const { time, one, other } = twoProcesses()
  for (let count = 0; count < breakerFailures; count++) {
    one.enter()
    await one.soon()
    one.end('failed')
  }
  other.enter()
  await other.soon()
  expect(other.refusals).toMatchObject([{ kind: 'breaker-open', wasSent: false, retryAtMs: time.now() + 30_000 }])
  await one.soon(30_000)
  one.enter(4)
  other.enter(4)
  await one.soon()
  expect([one.passages.length, other.passages.length]).toEqual([1, 0])
  one.end('succeeded')
  other.enter(4)
  await other.soon()
  expect(other.passages).toHaveLength(4)
})

test('a process makes as many calls at once as it has learnt; the first that waits goes when one has been read', async () => {
  const time = new VirtualTime()
  const one = processOf(time, memorySharedNotes(), { atOnce: 2 })
  one.enter(3)
  await one.soon()
  expect(one.passages).toHaveLength(2)
  const [first] = one.passages
  first?.ended({ end: 'succeeded' })
  await one.soon()
  expect(one.passages).toHaveLength(2)
  first?.left()
  await one.soon()
  expect(one.passages).toHaveLength(3)
})

test('a refusal for too many at once halves, refusals that come together are one lesson, successes raise it slowly', async () => {
  const time = new VirtualTime()
  const { turns, gate } = processOf(time, memorySharedNotes())
  gate.crowded()
  gate.crowded()
  expect(turns.most).toBe(8)
  await time.runUntil(time.now() + 1_000)
  gate.crowded()
  expect(turns.most).toBe(4)
  turns.succeeded()
  expect(turns.most).toBe(4)
  for (let at = 0; at < 4; at++) turns.take(`${at}`)
  for (let at = 0; at < 5; at++) turns.succeeded()
  expect(turns.most).toBe(5)
  for (let at = 0; at < 10; at++) {
    await time.runUntil(time.now() + 1_000)
    gate.crowded()
  }
  expect(turns.most).toBe(1)
})

test('an unread answer gives up its slot in the end', async () => {
  const time = new VirtualTime()
  const one = processOf(time, memorySharedNotes(), { atOnce: 1 })
  one.enter()
  await one.soon()
  one.passages[0]?.ended({ end: 'succeeded' })
  await one.soon(turnLifeMs)
  one.enter()
  await one.soon()
  expect(one.passages).toHaveLength(2)
})

test('if the notes cannot be written after an answer, the answer is still returned', async () => {
  const time = new VirtualTime()
  const notes = memorySharedNotes()
  let isFull = false
  const one = processOf(time, {
    ...notes,
    together(use) {
      if (isFull) throw new Error('database or disk is full')
      return notes.together(use)
    },
  })
  one.enter()
  await one.soon()
  isFull = true
  expect(() => one.end('succeeded')).not.toThrow()
})

test('calls in flight when a process ends become failures, and do not stay in flight', async () => {
  const { one, other } = twoProcesses()
  one.enter(mostAtOnce)
  await one.soon()
  one.gate.close()
  other.enter()
  await other.soon()
  expect(other.refusals).toMatchObject([{ kind: 'breaker-open' }])
})

test('a 429 that says to try again in a moment in a day is believed for an hour', async () => {
  const time = new VirtualTime()
  const { enter, passages, refusals, soon } = processOf(time, memorySharedNotes())
  enter()
  await soon()
  const untilMs = time.now() + believedResetMs
  passages.shift()?.ended({ end: 'failed', retryAtMs: time.now() + 24 * believedResetMs })
  enter()
  await soon()
  expect(refusals).toMatchObject([{ kind: 'limit-reached', retryAtMs: untilMs }])
  await time.runUntil(untilMs)
  enter()
  await soon()
  expect(passages).toHaveLength(1)
})
