import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DemoChat } from '#engines/demo/chat.ts'
import { checkpointMs, recoveryIntervalMs } from '#ledger/bounds.ts'
import { openService } from './open-service.ts'

// Intervals are called by hand: between two renewals of a lease comes the look for lapsed ones.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

test('a stream survives a sleep of its machine: its own lapsed lease is not that of a dead process', async () => {
  const gate = Promise.withResolvers<void>()
  const service = await openService({ chat: new DemoChat({ pause: () => gate.promise }) })
  const key = await service.key(5)
  const messages = [{ role: 'user', content: 'Count to 9.' }]
  const response = await service.post('/chat/completions', { model: 'demo-chat', messages, stream: true }, key)
  await vi.advanceTimersByTimeAsync(recoveryIntervalMs - (recoveryIntervalMs % checkpointMs))
  service.clock.pass(600_000)
  await vi.advanceTimersByTimeAsync(recoveryIntervalMs % checkpointMs)
  const open = () => service.store.read.selectFrom('hold').select('id').execute()
  expect(await open()).toHaveLength(1)
  gate.resolve()
  expect(await response.text()).toContain('[DONE]')
  expect(await open()).toEqual([])
  const charges = await service.store.read.selectFrom('entry').select('amount').where('kind', '=', 'CHARGE').execute()
  expect(charges.length).toBeGreaterThan(0)
  await service.close()
})
