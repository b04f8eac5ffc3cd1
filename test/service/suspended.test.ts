/** What a suspended customer gets, what ends, and what stays possible; the ledger alone decides, without a cache. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { customer, mustCommit, resume, suspend } from '../ledger/store/sample-ops.ts'
import { type ChatFixture, eventsOf, openFixture, prompt } from './chat-fixture.ts'
import { words } from './chat-script.ts'
import { openService } from './open-service.ts'

let fixture: ChatFixture
beforeAll(async () => {
  fixture = await openFixture()
})
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(async () => {
  await vi.advanceTimersByTimeAsync(36_000)
  vi.useRealTimers()
  await expect.poll(() => fixture.openHolds()).toBe(0)
  expect(await audit(fixture.service.database)).toMatchObject({ findings: [], driftMicroUsd: 0n })
})
afterAll(() => fixture.service.close())

const disabled = { code: 'API_ACCESS_DISABLED' }
const suspends = (account: string) => mustCommit(fixture.service.store, suspend(account))

test('a call is refused with 403 and charged nothing, and works again once the customer is resumed', async () => {
  const ada = await fixture.customer(1)
  await suspends(ada.account)
  const answer = await fixture.chat(ada)
  expect([answer.status, await answer.json()]).toEqual([
    403,
    { error: expect.stringContaining('operator'), ...disabled },
  ])
  expect((await fixture.chat(ada, { stream: true })).status).toBe(403)
  expect(fixture.engine.calls).toEqual([])
  await mustCommit(fixture.service.store, resume(ada.account))
  fixture.engine.play(words('one'))
  expect((await fixture.chat(ada)).status).toBe(200)
})

test('one without credit is told of the suspension, and not to top up', async () => {
  const poor = await fixture.customer(0)
  await suspends(poor.account)
  expect((await fixture.chat(poor)).status).toBe(403)
})

test('a stream ends at its next renewal, and what its engine made is charged', async () => {
  fixture.engine.play([...words('one', ' two'), 'silence'])
  const ada = await fixture.customer(1)
  const answer = await fixture.chat(ada, { stream: true })
  await suspends(ada.account)
  fixture.service.clock.pass(2_000)
  const text = await answer.text()
  expect(text).toContain(' two')
  expect(JSON.parse(eventsOf(text).at(-2) ?? '')).toMatchObject({
    choices: [{ finish_reason: 'error' }],
    error: disabled,
  })
  await vi.advanceTimersByTimeAsync(36_000)
  await expect.poll(() => fixture.openHolds()).toBe(0)
  expect((await fixture.ledger(ada.account)).charged).toBe(prompt + 20n)
})

test('a stream that needs more credit ends there', async () => {
  const suspended = Promise.withResolvers<void>()
  const many = words(...Array.from({ length: 9_000 }, () => ' more'))
  fixture.engine.play([{ text: 'one' }, { until: suspended.promise }, ...many])
  const ada = await fixture.customer(0.1)
  const answer = await fixture.chat(ada, { stream: true })
  await suspends(ada.account)
  suspended.resolve()
  expect(JSON.parse(eventsOf(await answer.text()).at(-2) ?? '').error).toMatchObject(disabled)
  await expect.poll(() => fixture.openHolds()).toBe(0)
  const { charged, writtenOff } = await fixture.ledger(ada.account)
  expect(charged).toBeLessThan(25_000n)
  expect(writtenOff).toBe(0n)
})

test('an answer that is not streamed is refused at the next renewal, and charged nothing', async () => {
  const late = Promise.withResolvers<void>()
  fixture.engine.play([{ until: late.promise }, ...words('one')])
  const ada = await fixture.customer(1)
  const asked = fixture.chat(ada)
  await expect.poll(() => fixture.openHolds()).toBe(1)
  await suspends(ada.account)
  fixture.service.clock.pass(11_000)
  const answer = await asked
  expect([answer.status, await answer.json()]).toMatchObject([403, disabled])
  await expect.poll(() => fixture.openHolds()).toBe(0)
  late.resolve()
  expect((await fixture.ledger(ada.account)).charged).toBe(0n)
})

test('the balance and the key can still be read', async () => {
  const ada = await fixture.customer(1)
  await suspends(ada.account)
  const init = { headers: { authorization: `Bearer ${ada.key}` } }
  expect((await fixture.service.request('/api/v1/api_keys/rate_limits', init)).status).toBe(200)
})

test('a job ends at its next renewal and its quote is refunded; jobs of other customers continue', async () => {
  vi.useRealTimers()
  const running = async () => ({ state: 'running', engineState: { at: 'engine' } }) as const
  const service = await openService({ video: { carries: () => true, start: running, poll: running } })
  try {
    const key = await service.key(1)
    const ask = { model: 'demo-video', prompt: 'Fog', duration: '2s', resolution: '360p', audio: false }
    expect((await service.post('/video/queue', ask, key)).status).toBe(200)
    const job = async () => {
      const rows = await service.store.read.selectFrom('job').select(['state', 'account', 'failure']).execute()
      return rows[0] ?? { state: 'none', account: '', failure: null }
    }
    await expect.poll(async () => (await job()).state).toBe('running')
    await mustCommit(service.store, suspend((await job()).account))
    service.clock.pass(11_000)
    await expect.poll(async () => (await job()).state, { timeout: 10_000 }).toBe('failed')
    expect((await job()).failure).toContain('disabled')
    const balance = await service.store.read.selectFrom('account').select(['posted', 'held']).executeTakeFirst()
    expect(balance).toEqual({ posted: 1_000_000n, held: 0n })
    expect((await service.post('/video/queue', ask, key)).status).toBe(403)
  } finally {
    await service.close()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  }
})

test('a plan that an operator chose counts for a customer’s calls', async () => {
  const ada = await fixture.customer(1)
  const limit = async () => {
    const init = { headers: { authorization: `Bearer ${ada.key}` } }
    const answer = await fixture.service.request('/api/v1/api_keys/rate_limits', init)
    const { data } = (await answer.json()) as { data: { rateLimits: unknown[] } }
    return JSON.stringify(data.rateLimits)
  }
  const before = await limit()
  await mustCommit(fixture.service.store, customer({ plan: 'partner' }, ada.account))
  fixture.service.clock.pass(1_001)
  expect(await limit()).not.toBe(before)
})
