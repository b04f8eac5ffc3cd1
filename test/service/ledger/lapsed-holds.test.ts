import { expect, test } from 'vitest'
import { recoveryIntervalMs } from '#ledger/bounds.ts'
import { LapsedHolds, lapsedForMs } from '#ledger/charges/recover-holds.ts'

/** Checks one lapsed hold at each of these times, and returns when it was due; null if it is missing. */
async function dueAt(times: readonly number[], untilMs: (nowMs: number) => number | null = () => 0): Promise<number[]> {
  const lapsed = new LapsedHolds()
  const due: number[] = []
  for (const nowMs of times) {
    const run = async () => {
      const until = untilMs(nowMs)
      if (until !== null && lapsed.isDue('hold', until, nowMs)) due.push(nowMs)
    }
    await lapsed.look({ now: () => nowMs }, run)
  }
  return due
}

const start = 1_000_000
const looks = (from: number, to: number, everyMs = recoveryIntervalMs) => {
  const times: number[] = []
  for (let at = from; at <= to; at += everyMs) times.push(at)
  return times
}

test('a hold that stays lapsed is due once its owner could have renewed it', async () => {
  const due = await dueAt(looks(start, start + lapsedForMs + recoveryIntervalMs))
  expect(due).toEqual([start + lapsedForMs, start + lapsedForMs + recoveryIntervalMs])
})

test('a renewal that lapsed again begins anew', async () => {
  const renewedAt = start + lapsedForMs - 1
  const due = await dueAt(looks(start, start + 2 * lapsedForMs), nowMs => (nowMs > renewedAt ? 1 : 0))
  expect(due).toEqual([start + 2 * lapsedForMs])
})

test('one that was gone for a look begins anew, and those beside it do not', async () => {
  const goneAt = start + recoveryIntervalMs
  const times = looks(start, goneAt + recoveryIntervalMs + lapsedForMs)
  expect(await dueAt(times, nowMs => (nowMs === goneAt ? null : 0))).toEqual([
    goneAt + recoveryIntervalMs + lapsedForMs,
  ])
})

test('a clock that is set back begins anew, and waits no longer', async () => {
  const back = start - 3_600_000
  expect(await dueAt([start, ...looks(back, back + lapsedForMs)])).toEqual([back + lapsedForMs])
})

test('each is counted by itself', async () => {
  const lapsed = new LapsedHolds()
  const due: string[] = []
  for (const nowMs of looks(start, start + lapsedForMs)) {
    const here = nowMs === start ? ['one'] : ['one', 'other']
    const run = async () => due.push(...here.filter(id => lapsed.isDue(id, 0, nowMs)))
    await lapsed.look({ now: () => nowMs }, run)
  }
  expect(due).toEqual(['one'])
})

test.each([
  ['two intervals after the last goes on', 2 * recoveryIntervalMs, true],
  ['later than that begins anew', 2 * recoveryIntervalMs + 1, false],
])('a look %s', async (_rule, everyMs, goesOn) => {
  const due = await dueAt(looks(start, start + 3 * lapsedForMs, everyMs))
  expect(due.length > 0).toBe(goesOn)
})

test('a look that takes long is over when it ends, not when it began', async () => {
  const lapsed = new LapsedHolds()
  let nowMs = start
  const clock = { now: () => nowMs }
  const due: boolean[] = []
  const look = (takesMs: number) =>
    lapsed.look(clock, async () => {
      due.push(lapsed.isDue('hold', 0, nowMs))
      nowMs += takesMs
    })
  await look(lapsedForMs)
  await look(0)
  expect(due).toEqual([false, true])
})

test('after an outage of the ledger, the time starts again, because no process could renew', async () => {
  const back = start + recoveryIntervalMs + 600_000
  const due = await dueAt([...looks(start, start + recoveryIntervalMs), ...looks(back, back + lapsedForMs)])
  expect(due).toEqual([back + lapsedForMs])
})

test('a look that fails is not one', async () => {
  const lapsed = new LapsedHolds()
  let nowMs = start
  const clock = { now: () => nowMs }
  const look = (run: () => Promise<unknown>) => lapsed.look(clock, run)
  await look(async () => expect(lapsed.isDue('hold', 0, nowMs)).toBe(false))
  for (; nowMs < start + lapsedForMs; nowMs += recoveryIntervalMs) {
    await expect(look(() => Promise.reject(new Error('away')))).rejects.toThrow('away')
  }
  await look(async () => expect(lapsed.isDue('hold', 0, nowMs)).toBe(false))
})

test('a look that failed during an outage of the ledger proves nothing after it', async () => {
  const lapsed = new LapsedHolds()
  let nowMs = start
  const isDue = () => lapsed.isDue('hold', 0, nowMs)
  const failing = lapsed.look({ now: () => nowMs }, async () => {
    isDue()
    throw new Error('away')
  })
  await expect(failing).rejects.toThrow('away')
  nowMs += 600_000
  expect(isDue()).toBe(false)
})

test('one that is met twice in one look is the same', async () => {
  const lapsed = new LapsedHolds()
  let nowMs = start
  const met: boolean[] = []
  for (; nowMs <= start + lapsedForMs; nowMs += recoveryIntervalMs) met.push(lapsed.isDue('hold', 0, nowMs))
  expect(met).toEqual([...looks(start, start + lapsedForMs - 1).map(() => false), true])
})
