import { expect, test } from 'vitest'
import { modelOffline, modelOverloaded } from '#contract/errors/errors.ts'
import { leaveOutMs, UpstreamHealth } from '#engines/upstreams/upstream-health.ts'
import { UpstreamPool } from '#engines/upstreams/upstream-pool.ts'
import { TestClock } from '../../service/open-service.ts'

const hourMs = 3_600_000

test('an upstream that is spared or left out is tried again although the clock is set back by an hour', async () => {
  const clock = new TestClock()
  let problem: Error | null = modelOverloaded({ 'retry-after': '60' })
  const engine = { answer: async () => (problem ? Promise.reject(problem) : 'a') }
  const upstream = { name: 'a', engine, engineModel: 'm', weight: 1, concurrency: 10 }
  const pool = new UpstreamPool({ upstreams: [upstream], clock, queue: { length: 1, waitMs: 60_000 } })
  const { signal } = new AbortController()
  const ask = () => pool.answer({ engineModel: 'public', signal }, each => each.answer())
  const afterSetBack = async () => {
    problem = null
    clock.pass(-hourMs)
    return ask()
  }
  await expect(ask()).rejects.toMatchObject({ kind: 'MODEL_OVERLOADED' })
  expect(await afterSetBack()).toBe('a')
  problem = modelOffline()
  for (let call = 0; call < 3; call++) await expect(ask()).rejects.toMatchObject({ kind: 'MODEL_OFFLINE' })
  expect(pool.states[0]?.state).toBe('down')
  expect(await afterSetBack()).toBe('a')
})

test('neither its wait nor the next probe is further away then', () => {
  const clock = new TestClock()
  const health = new UpstreamHealth(clock)
  expect(health.beginProbe()).toBe(true)
  health.endProbe()
  for (let call = 0; call < 3; call++) health.wasAway()
  expect(health.waitMs).toBe(leaveOutMs)
  clock.pass(-hourMs)
  expect([health.waitMs, health.state]).toEqual([0, 'trial'])
  health.succeeded()
  expect(health.beginProbe()).toBe(true)
})
