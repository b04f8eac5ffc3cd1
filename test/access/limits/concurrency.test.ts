import { expect, test } from 'vitest'
import { WalletSlots } from '#access/limits/concurrency.ts'
import { ManualClock, noonMs } from './manual-clock.ts'

const setUp = () => new WalletSlots(new ManualClock(noonMs))

test('five requests of a wallet at once, and no sixth', () => {
  const slots = setUp()
  for (let each = 0; each < 5; each++) slots.enter('0xada')
  expect(() => slots.enter('0xada')).toThrow(
    expect.objectContaining({
      status: 429,
      body: { error: 'Too many concurrent requests', code: 'X402_CONCURRENCY_LIMIT' },
      headers: expect.objectContaining({ 'x-ratelimit-reset-requests': `${noonMs / 1000 + 1}`, 'retry-after': '1' }),
    }),
  )
  slots.enter('0xb0b')
})

test('a finished request frees one slot, however often it is finished', () => {
  const slots = setUp()
  const [leave] = Array.from({ length: 5 }, () => slots.enter('0xada'))
  leave?.()
  leave?.()
  slots.enter('0xada')
  expect(() => slots.enter('0xada')).toThrow()
})

test('a wallet without requests costs no memory', () => {
  const slots = setUp()
  const leave = slots.enter('0xada')
  expect(slots.size).toBe(1)
  leave()
  expect(slots.size).toBe(0)
})
