import { describe, expect, test } from 'vitest'
import { Windows } from '#access/limits/windows.ts'
import { noonMs } from './manual-clock.ts'
import { limitStoreContract } from './store-contract.ts'

describe('in this process', () => limitStoreContract(() => new Windows(), 100))

test('memory is bounded, and a minute later free', async () => {
  const windows = new Windows(10)
  for (let caller = 0; caller < 100; caller++) await windows.take([dimension(`${caller}`)], 0, noonMs)
  expect(windows.size).toBe(10)
  await windows.take([dimension('one')], 0, noonMs + 60_000)
  expect(windows.size).toBe(1)
})

const dimension = (key: string) => ({ key, type: 'api_key', requestsPerMinute: 3 }) as const
