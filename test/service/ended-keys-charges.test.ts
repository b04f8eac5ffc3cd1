/** A key that ends in the middle of a stream pays what a caller pays who leaves there: its end is no cheaper way out. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { unreadCalls } from '#access/limits/limit-rules.ts'
import { inferenceFailed } from '#contract/errors/errors.ts'
import { audit } from '#ledger/audit/audit.ts'
import { type ChatFixture, type Customer, eventsOf, openFixture, prompt } from './chat-fixture.ts'
import { type Beat, used, words } from './chat-script.ts'
import { textModel } from './models/example-models.ts'

const role: Beat = { role: true }
const fourWords = words('The', ' answer', ' is', ' 42')

let fixture: ChatFixture
beforeAll(async () => {
  const { capabilities } = textModel()
  fixture = await openFixture({ model: { capabilities: { ...capabilities, supportsReasoning: true } } })
})
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(async () => {
  vi.useRealTimers()
  await expect.poll(() => fixture.openHolds()).toBe(0)
  const report = await audit(fixture.service.database)
  expect([report.findings, report.driftMicroUsd]).toEqual([[], 0n])
  expect(fixture.service.logged.filter(line => line.level === 'error')).toEqual([])
})
afterAll(() => fixture.service.close())

/** A way for a key to end within two seconds. */
type End = (customer: Customer) => Promise<unknown>

const idOf = async ({ account }: Customer) =>
  (await fixture.service.service.keys.list(account)).find(({ label }) => label !== 'other')?.id ?? ''

/** Another key of the same account. */
async function otherKey({ account }: Customer): Promise<Customer> {
  const { secret } = await fixture.service.service.keys.create({ account, label: 'other', expiresAtMs: null })
  return { key: secret, account }
}

const revoke: End = async customer => fixture.service.service.keys.revoke(await idOf(customer))
const expire: End = async customer =>
  fixture.service.service.keys.setBudget(await idOf(customer), null, {
    expiresAtMs: fixture.service.clock.now() + 1_000,
  })

/** After so long a key is looked at again. */
const look = () => fixture.service.clock.pass(2_000)

const chargedTo = async ({ account }: Customer) => (await fixture.ledger(account)).charged

async function allTimePasses(): Promise<void> {
  await vi.advanceTimersByTimeAsync(36_000)
}

/** Reads so many events, then its key ends. */
async function endsAfter(events: number, end: End, init: RequestInit = {}) {
  const customer = await fixture.customer(10)
  const answer = await fixture.chat(customer, { stream: true }, init)
  const reader = answer.body?.getReader()
  for (let read = 0; read < events; read++) await reader?.read()
  await end(customer)
  look()
  return { customer, reader }
}

async function leavesAfter(events: number) {
  const customer = await fixture.customer(10)
  const reader = (await fixture.chat(customer, { stream: true })).body?.getReader()
  for (let read = 0; read < events; read++) await reader?.read()
  const over = reader?.cancel()
  await allTimePasses()
  await over
  return chargedTo(customer)
}

const saysWhenAborted = { usage: used(20, 9_000) }

describe.each<[how: string, end: End]>([
  ['is revoked', revoke],
  ['expires', expire],
])('a key that %s', (_how, end) => {
  test.each<[where: string, beats: Beat[], events: number]>([
    ['after some words, before a hidden thought', [role, ...fourWords, 'silence'], 5],
    ['in a hidden thought before the first word', [role, 'silence'], 1],
  ])('%s owes the usage that its engine says', async (_where, beats, events) => {
    fixture.engine.play(beats, saysWhenAborted)
    const left = await leavesAfter(events)
    fixture.engine.play(beats, saysWhenAborted)
    const { customer, reader } = await endsAfter(events, end)
    await toEnd(reader)
    await allTimePasses()
    await expect.poll(() => fixture.openHolds()).toBe(0)
    expect([left, await chargedTo(customer)]).toEqual([90_020n, 90_020n])
  })
})

const toEnd = async (reader: ReadableStreamDefaultReader<Uint8Array> | undefined) => {
  const pieces: Uint8Array[] = []
  for (let step = await reader?.read(); step && !step.done; step = await reader?.read()) pieces.push(step.value)
  return Buffer.concat(pieces).toString()
}

test('its reader gets the error at once, and nothing more of the answer, while the engine continues', async () => {
  const more = Promise.withResolvers<void>()
  fixture.engine.play([...fourWords, { until: more.promise }, { text: ' secret' }, { usage: used(20, 9_000) }])
  const { customer, reader } = await endsAfter(4, revoke)
  const text = await toEnd(reader)
  expect(JSON.parse(eventsOf(text)[0] ?? '')).toMatchObject({
    choices: [{ finish_reason: 'error' }],
    error: { type: 'authentication_error', code: 'AUTHENTICATION_FAILED' },
  })
  expect(eventsOf(text).slice(1)).toEqual(['[DONE]'])
  expect([fixture.engine.calls[0]?.signal.aborted, await fixture.openHolds()]).toEqual([false, 1])
  more.resolve()
  await expect.poll(() => fixture.openHolds()).toBe(0)
  expect(await chargedTo(customer)).toBe(90_020n)
})

test('unread streams count as left, so an account cannot start any number of them', async () => {
  fixture.engine.play([...fourWords, 'silence'])
  const customer = await fixture.customer(100)
  const other = await otherKey(customer)
  const begin = async () => (await fixture.chat(customer, { stream: true, max_tokens: 10 })).body?.getReader()
  const readers = await Promise.all(Array.from({ length: unreadCalls.perAccount }, begin))
  await revoke(customer)
  look()
  await Promise.all(readers.map(toEnd))
  const refused = await fixture.chat(other, { max_tokens: 10 })
  expect([refused.status, await refused.json()]).toEqual([
    429,
    expect.objectContaining({ code: 'TOO_MANY_UNREAD_CALLS' }),
  ])
  await allTimePasses()
  await expect.poll(() => fixture.openHolds()).toBe(0)
  fixture.service.clock.pass(60_000)
  fixture.engine.play(words('one'))
  expect((await fixture.chat(other, { max_tokens: 10 })).status).toBe(200)
})

test('before the first event it is a status, at once', async () => {
  fixture.engine.play(['silence'], saysWhenAborted)
  const customer = await fixture.customer(10)
  const answer = fixture.chat(customer, { stream: true })
  await expect.poll(() => fixture.engine.calls.length).toBe(1)
  await revoke(customer)
  look()
  expect([(await answer).status, await fixture.openHolds()]).toEqual([401, 1])
  await allTimePasses()
  await expect.poll(() => fixture.openHolds()).toBe(0)
  expect(await chargedTo(customer)).toBe(90_020n)
})

test('an engine that fails by itself meanwhile owes what was delivered, and nothing before that', async () => {
  for (const [beats, events, owed] of [
    [[role], 1, 0n],
    [fourWords, 4, prompt + 40n],
  ] as const) {
    const failed = Promise.withResolvers<void>()
    fixture.engine.play([...beats, { until: failed.promise }, { fail: inferenceFailed() }])
    const { customer, reader } = await endsAfter(events, revoke)
    await toEnd(reader)
    failed.resolve()
    await expect.poll(() => fixture.openHolds()).toBe(0)
    expect(await chargedTo(customer)).toBe(owed)
  }
})

test('under an Idempotency-Key the charge is the same, and the key returns what was sent', async () => {
  fixture.engine.play([...fourWords, 'silence'], saysWhenAborted)
  const owner = await fixture.customer(10)
  const other = await otherKey(owner)
  const headers = (key: string) => ({
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'idempotency-key': 'an-ended-key' },
  })
  const reader = (await fixture.chat(owner, { stream: true }, headers(owner.key))).body?.getReader()
  for (let read = 0; read < 4; read++) await reader?.read()
  await revoke(owner)
  look()
  // Its end comes once it is known what is kept.
  const text = await reader?.read()
  expect(Buffer.from(text?.value ?? []).toString()).toContain('AUTHENTICATION_FAILED')
  const told = toEnd(reader)
  await allTimePasses()
  expect(await told).toBe('data: [DONE]\n\n')
  await expect.poll(() => fixture.openHolds()).toBe(0)
  const again = await fixture.chat(owner, { stream: true }, headers(other.key))
  expect(await again.text()).toMatch(/ 42.*AUTHENTICATION_FAILED/s)
  expect([fixture.engine.calls.length, await chargedTo(owner)]).toEqual([1, 90_020n])
})
