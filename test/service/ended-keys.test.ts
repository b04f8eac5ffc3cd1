import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { demoModels } from '#service/models/demo-models.ts'
import { type ChatFixture, type Customer, eventsOf, openFixture, prompt } from './chat-fixture.ts'
import { words } from './chat-script.ts'
import { openService } from './open-service.ts'

let fixture: ChatFixture
beforeAll(async () => {
  fixture = await openFixture()
})
const { setTimeout: realTimeout } = globalThis
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(async () => {
  // What goes on unread is over by then.
  await vi.advanceTimersByTimeAsync(36_000)
  vi.useRealTimers()
  await expect.poll(() => fixture.openHolds()).toBe(0)
})
afterAll(() => fixture.service.close())

const keyOf = async ({ account }: Customer, at = fixture) =>
  (await at.service.service.keys.list(account)).map(({ id }) => id)[0] ?? ''

const lastEvent = (text: string) => JSON.parse(eventsOf(text).at(-2) ?? '')

/** A stream that has said two words and goes on being silent. */
async function begun(customer: Customer, body: object = {}) {
  const answer = await fixture.chat(customer, { stream: true, ...body })
  expect(answer.status).toBe(200)
  return answer
}

test('a stream ends within a renewal once its key is revoked, and what its engine made is charged', async () => {
  fixture.engine.play([...words('one', ' two'), 'silence'])
  const customer = await fixture.customer(1)
  const answer = await begun(customer)
  await fixture.service.service.keys.revoke(await keyOf(customer))
  fixture.service.clock.pass(2_000)
  const text = await answer.text()
  expect(text).toContain(' two')
  expect(lastEvent(text)).toMatchObject({
    choices: [{ finish_reason: 'error' }],
    error: { type: 'authentication_error', code: 'AUTHENTICATION_FAILED' },
  })
  await vi.advanceTimersByTimeAsync(36_000)
  await expect.poll(() => fixture.openHolds()).toBe(0)
  expect(fixture.engine.calls[0]?.signal.aborted).toBe(true)
  expect((await fixture.ledger(customer.account)).charged).toBe(prompt + 20n)
})

test('so does one whose key has expired', async () => {
  fixture.engine.play([...words('one', ' two'), 'silence'])
  const customer = await fixture.customer(1)
  await fixture.service.service.keys.setBudget(await keyOf(customer), null, {
    expiresAtMs: fixture.service.clock.now() + 3_000,
  })
  const answer = await begun(customer)
  fixture.service.clock.pass(4_000)
  expect(lastEvent(await answer.text()).error.code).toBe('AUTHENTICATION_FAILED')
})

test('no hold is extended for a key that was revoked, however soon', async () => {
  const revoked = Promise.withResolvers<void>()
  fixture.engine.play([
    { text: 'one' },
    { until: revoked.promise },
    ...words(...Array.from({ length: 9_000 }, () => ' more')),
  ])
  // A fifth of it is held at first.
  const customer = await fixture.customer(0.1)
  const answer = await begun(customer)
  await fixture.service.service.keys.revoke(await keyOf(customer))
  revoked.resolve()
  expect(lastEvent(await answer.text()).error.code).toBe('AUTHENTICATION_FAILED')
  await expect.poll(() => fixture.openHolds()).toBe(0)
  const { charged, writtenOff } = await fixture.ledger(customer.account)
  expect(charged).toBeLessThan(25_000n)
  expect(writtenOff).toBe(0n)
})

test('a stream of the Responses shape ends as failed', async () => {
  fixture.engine.play([...words('one', ' two'), 'silence'])
  const customer = await fixture.customer(1)
  const answer = await fixture.service.post(
    '/responses',
    { model: 'scripted', input: 'hello', stream: true },
    customer.key,
  )
  await fixture.service.service.keys.revoke(await keyOf(customer))
  fixture.service.clock.pass(2_000)
  expect(await answer.text()).toMatch(/event: response\.failed\n.*revoked/)
})

test('a valid key is checked, and its stream continues', async () => {
  const more = Promise.withResolvers<void>()
  fixture.engine.play([{ text: 'one' }, { until: more.promise }, { text: ' two' }])
  const customer = await fixture.customer(1)
  const answer = await begun(customer)
  fixture.service.clock.pass(11_000)
  await new Promise(resolve => realTimeout(resolve, 600))
  more.resolve()
  expect(eventsOf(await answer.text()).join('')).toContain(' two')
})

test('speech ends before its next sentence', async () => {
  const service = await openService({ models: demoModels })
  try {
    const key = await service.key(1)
    const input = 'This is a sentence that is spoken. '.repeat(20)
    const answer = await service.post('/audio/speech', { model: 'demo-speech', input, streaming: true }, key)
    const reader = answer.body?.getReader()
    await reader?.read()
    const [record] = await service.service.keys.list()
    await service.service.keys.revoke(record?.id ?? '')
    service.clock.pass(2_000)
    await new Promise(resolve => realTimeout(resolve, 600))
    await expect(reader?.read()).rejects.toThrow()
  } finally {
    await service.close()
  }
})
