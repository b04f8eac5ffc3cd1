import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { audit } from '#ledger/audit/audit.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { type ChatFixture, type Customer, eventsOf, openFixture, prompt } from './chat-fixture.ts'
import { manyWords, used } from './chat-script.ts'

let fixture: ChatFixture
beforeAll(async () => {
  fixture = await openFixture()
})
afterEach(async () => {
  await expect.poll(() => fixture.openHolds()).toBe(0)
  const report = await audit(fixture.service.database)
  expect([report.findings, report.driftMicroUsd]).toEqual([[], 0n])
  expect(fixture.service.logged.filter(line => line.level === 'error')).toEqual([])
})
afterAll(() => fixture.service.close())

const heldBy = async ({ account }: Customer): Promise<bigint> =>
  (
    await fixture.service.store.read
      .selectFrom('account')
      .select('held')
      .where('id', '=', account)
      .executeTakeFirstOrThrow()
  ).held

/** Reads a stream to its end and notes what is held after each event. */
async function heldThroughout(customer: Customer): Promise<{ held: bigint[]; events: string[] }> {
  const answer = await fixture.chat(customer, { stream: true, stream_options: { include_usage: true } })
  const reader = answer.body?.getReader()
  const held: bigint[] = []
  let text = ''
  for (;;) {
    const step = await reader?.read()
    if (!step || step.done) return { held, events: eventsOf(text) }
    held.push(await heldBy(customer))
    text += new TextDecoder().decode(step.value)
  }
}

const rises = (held: readonly bigint[]): bigint[] => [...new Set(held.filter(each => each > 0n))]

test('without a maximum a stream holds a fifth of the credit, and more of it ahead of need', async () => {
  fixture.engine.play([...manyWords(700), { usage: used(20, 700) }])
  const customer = await fixture.customer(0.02)
  const { held, events } = await heldThroughout(customer)
  expect(held[0]).toBeLessThanOrEqual(4_000n)
  expect(held[0]).toBeGreaterThan(3_900n)
  const steps = rises(held)
  expect(steps).toEqual([1n, 2n, 3n].map(step => step * (held[0] ?? 0n)))
  // Never behind: what has been delivered was held before it went out.
  for (const [index, each] of held.entries())
    if (each > 0n) expect(each).toBeGreaterThanOrEqual(10n * BigInt(index + 1))
  expect(JSON.parse(events.at(-2) ?? '').cost.usd).toBe(0.00702)
  expect((await fixture.ledger(customer.account)).charged).toBe(7_020n)
})

test('the engine gets the whole token limit that the credit pays for, because it cannot be raised later', async () => {
  fixture.engine.play([...manyWords(3), { usage: used(20, 3) }])
  const [some, plenty] = [await fixture.customer(0.02), await fixture.customer(100)]
  await (await fixture.chat(some, { stream: true })).text()
  await (await fixture.chat(plenty, { stream: true })).text()
  await (await fixture.chat(some)).text()
  const [streamed, unbounded, whole] = fixture.engine.calls.map(call => call.maxCompletionTokens)
  expect(streamed).toBeGreaterThan(1_900)
  expect(streamed).toBeLessThan(2_000)
  expect(unbounded).toBe(16_384)
  // A whole answer cannot extend its hold, so it keeps to the fifth.
  expect(whole).toBeLessThan(400)
})

test('a maximum that was given is held whole from the beginning, and never more', async () => {
  fixture.engine.play([...manyWords(400), { usage: used(20, 400) }])
  const customer = await fixture.customer(1)
  const answer = await fixture.chat(customer, { stream: true, max_tokens: 500 })
  const first = await heldBy(customer)
  expect(first).toBeGreaterThan(5_000n)
  await answer.text()
  expect((await fixture.ledger(customer.account)).charged).toBe(4_020n)
})

test('where nothing is left to extend with, the stream ends with an error event and what was delivered is charged', async () => {
  fixture.engine.play([...manyWords(5_000), 'silence'])
  const customer = await fixture.customer(0.02)
  const answer = await fixture.chat(customer, { stream: true })
  // Another call takes the rest of the credit while this one runs.
  const rest = 20_000n - (await heldBy(customer))
  const other = await takeCredit(customer, rest)
  const events = eventsOf(await answer.text())
  const last = JSON.parse(events.at(-2) ?? '')
  expect(last).toMatchObject({
    choices: [{ index: 0, delta: {}, finish_reason: 'error' }],
    error: {
      message: 'Insufficient USD or Diem balance to complete request. Add credits to continue.',
      type: 'insufficient_credit',
      param: null,
      code: 'INSUFFICIENT_BALANCE',
    },
  })
  expect(events.at(-1)).toBe('[DONE]')
  expect(fixture.engine.calls[0]?.signal.aborted).toBe(true)
  const { charged, writtenOff } = await fixture.ledger(customer.account)
  const delivered = BigInt(events.length - 2)
  expect([charged, writtenOff]).toEqual([prompt + 10n * delivered, 0n])
  expect(charged).toBeGreaterThan(3_500n)
  expect(charged).toBeLessThanOrEqual(4_000n)
  await other()
})

test('what is left is taken where it is less than a step', async () => {
  fixture.engine.play([...manyWords(5_000), 'silence'])
  const customer = await fixture.customer(0.02)
  const answer = await fixture.chat(customer, { stream: true })
  const other = await takeCredit(customer, 20_000n - (await heldBy(customer)) - 1_000n)
  const events = eventsOf(await answer.text())
  expect(JSON.parse(events.at(-2) ?? '').error.code).toBe('INSUFFICIENT_BALANCE')
  const { charged } = await fixture.ledger(customer.account)
  expect(charged).toBeGreaterThan(4_500n)
  expect(charged).toBeLessThanOrEqual(5_000n)
  await other()
})

test('credit that comes back in time is used', async () => {
  const full = Promise.withResolvers<void>()
  fixture.engine.play([...manyWords(320), { until: full.promise }, ...manyWords(300), { usage: used(20, 620) }])
  const customer = await fixture.customer(0.02)
  const answer = await fixture.chat(customer, { stream: true })
  const other = await takeCredit(customer, 20_000n - (await heldBy(customer)))
  const reader = answer.body?.getReader()
  for (let read = 0; read < 320; read++) await reader?.read()
  await other()
  full.resolve()
  let last = ''
  for (let step = await reader?.read(); step && !step.done; step = await reader?.read())
    last = new TextDecoder().decode(step.value)
  expect(last).toContain('[DONE]')
  expect((await fixture.ledger(customer.account)).charged).toBe(6_220n)
})

test('tokens that are never shown are paid from the credit too, as far as the engine was told to go', async () => {
  fixture.engine.play([...manyWords(3), { usage: used(20, 1_500) }])
  const customer = await fixture.customer(0.02)
  await (await fixture.chat(customer, { stream: true })).text()
  const { charged, writtenOff } = await fixture.ledger(customer.account)
  expect([charged, writtenOff]).toEqual([15_020n, 0n])
})

test('and what is beyond that is the loss of the service', async () => {
  fixture.engine.play([...manyWords(3), { usage: used(20, 5_000) }])
  const customer = await fixture.customer(0.02)
  await (await fixture.chat(customer, { stream: true })).text()
  const { charged, writtenOff } = await fixture.ledger(customer.account)
  expect(charged + writtenOff).toBe(50_020n)
  expect(charged).toBeLessThanOrEqual(20_000n)
  expect(charged).toBeGreaterThan(19_900n)
})

/** Holds so much of a customer's credit; the result gives it back. */
async function takeCredit({ account }: Customer, amount: bigint): Promise<() => Promise<void>> {
  const { store, clock } = fixture.service
  const hold = uuidV7(clock.now())
  const lease = { owner: 'another process', untilMs: clock.now() + 60_000 }
  const commit = async (op: Op) => {
    const [outcome] = await store.commit([{ id: uuidV7(clock.now()), ops: [op] }])
    expect(outcome?.ok).toBe(true)
  }
  await commit({ op: 'hold', hold, account, amount: microUsd(amount), lease, atMs: clock.now() })
  return () => commit({ op: 'release', hold })
}
