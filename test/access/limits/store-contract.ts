import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LimitDimension } from '#access/limits/limit-rules.ts'
import type { LimitStore } from '#access/limits/windows.ts'
import { noonMs } from './manual-clock.ts'

const user: LimitDimension = { key: 'user', type: 'user', requestsPerMinute: 50, tokensPerMinute: 1000 }
const key: LimitDimension = { key: 'key', type: 'api_key', requestsPerMinute: 3 }

async function takeTimes(windows: LimitStore, times: number, dimensions = [user], tokens = 0, nowMs = noonMs) {
  const taken = await Promise.all(Array.from({ length: times }, () => windows.take(dimensions, tokens, nowMs)))
  return taken.filter(({ allowed }) => allowed).length
}

/** What every store of counts does. `open` gives an empty one each time; `runs` is how many orders are tried. */
export function limitStoreContract(open: () => LimitStore, runs: number): void {
  describe('requests', () => {
    test('S6: 500 at once at a limit of 50 are exactly 50', async () => {
      expect(await takeTimes(open(), 500)).toBe(50)
    })

    test('§8.4: a window is a fixed minute of UTC', async () => {
      const windows = open()
      expect(await takeTimes(windows, 60, [user], 0, noonMs + 59_999)).toBe(50)
      expect(await takeTimes(windows, 60, [user], 0, noonMs + 60_000)).toBe(50)
    })

    test('a clock set back across the minute opens no fresh window', async () => {
      const windows = open()
      await takeTimes(windows, 50, [user], 0, noonMs)
      expect(await takeTimes(windows, 1, [user], 0, noonMs - 5)).toBe(0)
    })

    test('a clock set back far does not stop the windows from turning', async () => {
      const windows = open()
      await takeTimes(windows, 50, [user], 0, noonMs + 3_600_000)
      expect(await takeTimes(windows, 60, [user], 0, noonMs)).toBe(50)
    })

    test('a refusal by one dimension counts nothing in the others, and tells all of them', async () => {
      const windows = open()
      await takeTimes(windows, 3, [user, key])
      const refused = await windows.take([user, key], 10, noonMs)
      expect(refused.allowed).toBe(false)
      expect(refused.states).toEqual([
        { dimension: user, remainingRequests: 47, remainingTokens: 1000, met: null },
        { dimension: key, remainingRequests: 0, met: 'requests' },
      ])
      expect(await takeTimes(windows, 100)).toBe(47)
    })
  })

  describe('tokens', () => {
    test('are reserved before', async () => {
      expect(await takeTimes(open(), 20, [user], 300)).toBe(3)
    })

    test('are corrected after, down and up', async () => {
      const windows = open()
      const { reservation } = await windows.take([user], 900, noonMs)
      expect((await windows.take([user], 200, noonMs)).allowed).toBe(false)
      await windows.correct(reservation, 100)
      const second = await windows.take([user], 800, noonMs)
      expect(second.states[0]?.remainingTokens).toBe(100)
      await windows.correct(second.reservation, 5000)
      expect((await windows.take([user], 1, noonMs)).states[0]).toMatchObject({ remainingTokens: 0, met: 'tokens' })
    })

    test('of a window that has ended are not corrected', async () => {
      const windows = open()
      const { reservation } = await windows.take([user], 900, noonMs)
      await windows.take([user], 0, noonMs + 60_000)
      await windows.correct(reservation, 1000)
      expect((await windows.take([user], 1000, noonMs + 60_000)).allowed).toBe(true)
    })

    test('an estimate above the whole limit counts as all of it, or it could never be served', async () => {
      const windows = open()
      const first = await windows.take([user], 4000, noonMs)
      expect(first.states[0]).toMatchObject({ remainingTokens: 0, met: null })
      expect((await windows.take([user], 4000, noonMs)).allowed).toBe(false)
      await windows.correct(first.reservation, 400)
      expect((await windows.take([user], 600, noonMs)).states[0]?.remainingTokens).toBe(0)
    })

    test('are not asked of a dimension without a token limit', async () => {
      expect((await open().take([key], 1_000_000, noonMs)).allowed).toBe(true)
    })
  })

  describe('what is read', () => {
    test('§8.4: shows the state after the requests so far, and counts nothing', async () => {
      const windows = open()
      await windows.take([user, key], 300, noonMs)
      const states = [
        { dimension: user, remainingRequests: 49, remainingTokens: 700, met: null },
        { dimension: key, remainingRequests: 2, met: null },
      ]
      for (let times = 0; times < 2; times++)
        expect(await windows.read([user, key], noonMs + 5)).toEqual({ windowStartMs: noonMs, states })
    })

    test('of callers without requests is the full limit', async () => {
      expect((await open().read([user], noonMs)).states[0]).toMatchObject({ remainingRequests: 50 })
    })

    test('turns with the minute, and not back with a clock that is set back', async () => {
      const windows = open()
      await windows.take([user], 0, noonMs)
      expect((await windows.read([user], noonMs + 60_000)).states[0]).toMatchObject({ remainingRequests: 50 })
      await windows.take([user], 0, noonMs + 60_000)
      expect(await windows.read([user], noonMs + 59_000)).toMatchObject({
        windowStartMs: noonMs + 60_000,
        states: [{ remainingRequests: 49 }],
      })
    })
  })

  test('in no order of takes and corrections does a minute admit more requests than its limit', async () => {
    const step = fc.record({ tokens: fc.nat(400), used: fc.nat(400), advanceMs: fc.nat(9_000) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 200 }), async steps => {
        const windows = open()
        const tight = { ...user, requestsPerMinute: 7, tokensPerMinute: 500 }
        const admitted = new Map<number, number>()
        let nowMs = noonMs
        for (const { tokens, used, advanceMs } of steps) {
          nowMs += advanceMs
          const taken = await windows.take([tight], tokens, nowMs)
          if (!taken.allowed) continue
          const minute = Math.floor(nowMs / 60_000)
          admitted.set(minute, (admitted.get(minute) ?? 0) + 1)
          await windows.correct(taken.reservation, used)
        }
        expect(Math.max(0, ...admitted.values())).toBeLessThanOrEqual(7)
      }),
      { numRuns: runs },
    )
  })
}
