import { expect, test } from 'vitest'
import { SharedBlock } from '#access/limits/shared/shared-limits.ts'
import { SharedWindows, ValkeyWindows } from '#access/limits/shared/shared-windows.ts'
import { Breaker } from '#access/limits/shared/valkey.ts'
import { ManualClock, noonMs } from './manual-clock.ts'

const dimension = { key: 'account:ada:text:m', type: 'user', requestsPerMinute: 40, tokensPerMinute: 4_000 } as const
const minute = `${noonMs}`

const malformed: [string, unknown][] = [
  ['nothing', []],
  ['no list', 'OK'],
  ['null', null],
  ['too few counts', [minute, 1, 1]],
  ['too many counts', [minute, 1, 1, 1, 1]],
  ['words', [minute, 1, 'one', 'two']],
  ['empty words', [minute, 1, '', '']],
  ['less than none', [minute, 1, -1, 0]],
  ['halves', [minute, 1, 0.5, 0]],
  ['more than can be counted', [minute, 1, 1e300, 0]],
  ['lists', [minute, 1, [], {}]],
]

test.each(malformed)('counts that are %s are treated as unavailable', async (_, answer) => {
  const valkey = new ValkeyWindows({ run: async () => answer }, '{x}:')
  await expect(valkey.take([dimension], 10, noonMs)).rejects.toThrow('no counts')
  const breaker = new Breaker({ clock: new ManualClock(noonMs), isReady: () => true })
  const { allowed, states } = await new SharedWindows(valkey, breaker).take([dimension], 10, noonMs)
  expect(allowed).toBe(true)
  expect(states).toMatchObject([{ remainingRequests: 9, remainingTokens: 990 }])
  expect(await breaker.ask(async () => 'asked')).toBeNull()
})

test('blocks that are not a list block no caller', async () => {
  const clock = new ManualClock(noonMs)
  const breaker = new Breaker({ clock, isReady: () => true })
  const block = new SharedBlock({ clock, breaker, prefix: '{x}:', valkey: { run: async () => 'OK', listen: () => {} } })
  await block.catchUp()
  expect(() => block.check('ada')).not.toThrow()
})
