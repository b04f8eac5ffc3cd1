import { expect, test } from 'vitest'
import { recoveryIntervalMs } from '#service/ledger/bounds.ts'
import { LapsedHolds, lapsedForMs } from '#service/ledger/lapsed-holds.ts'

/** Looks at one lapsed hold at each of these times, and says at which it was due. */
async function dueAt(times: readonly number[], untilMs: (nowMs: number) => number = () => 0): Promise<number[]> {
  const lapsed = new LapsedHolds()
  const due: number[] = []
  for (const nowMs of times) {
    const run = async () => {
      if (lapsed.isDue('hold', untilMs(nowMs), nowMs)) due.push(nowMs)
    }
    await lapsed.look({ now: () => nowMs }, run)
  }
  return due
}

const start = 1_000_000
const looks = (from: number, to: number) => {
  const times: number[] = []
  for (let at = from; at <= to; at += recoveryIntervalMs) times.push(at)
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

test('books that were away for a while begin it anew, because nobody could renew', async () => {
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
