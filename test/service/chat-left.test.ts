import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { inferenceFailed } from '#contract/errors/errors.ts'
import { audit } from '#ledger/audit/audit.ts'
import { type ChatFixture, openFixture, prompt } from './chat-fixture.ts'
import { type Beat, used, words } from './chat-script.ts'
import { textModel } from './models/example-models.ts'

const role: Beat = { role: true }
const sixWords = words('one', ' two', ' three', ' four', ' five', ' six')

let fixture: ChatFixture
let thinker: ChatFixture
beforeAll(async () => {
  const { capabilities } = textModel()
  const opened = (supportsReasoning: boolean) =>
    openFixture({ model: { capabilities: { ...capabilities, supportsReasoning } } })
  fixture = await opened(false)
  thinker = await opened(true)
})
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(async () => {
  vi.useRealTimers()
  for (const each of [fixture, thinker]) {
    await expect.poll(() => each.openHolds()).toBe(0)
    const report = await audit(each.service.database)
    expect([report.findings, report.driftMicroUsd]).toEqual([[], 0n])
    expect(each.service.logged.filter(line => line.level === 'error')).toEqual([])
  }
})
afterAll(() => Promise.all([fixture.service.close(), thinker.service.close()]))

/** Reads so many events of a stream and leaves; `over` resolves when its work has ended. */
async function leave(events: number, { at = fixture, body = {} }: { at?: ChatFixture; body?: object } = {}) {
  const customer = await at.customer(10)
  const answer = await at.chat(customer, { ...body, stream: true })
  const reader = answer.body?.getReader()
  for (let read = 0; read < events; read++) await reader?.read()
  const over = reader?.cancel()
  return { customer, over, charged: async () => (await at.ledger(customer.account)).charged }
}

/** What it was charged once all its time was up. */
async function chargedAfter(events: number, body: object = {}): Promise<bigint> {
  const { over, charged } = await leave(events, { body })
  await vi.advanceTimersByTimeAsync(36_000)
  await over
  return charged()
}

describe('a stream whose reader leaves continues unread, and is charged by the engine’s usage', () => {
  test.each<[rule: string, beats: Beat[], events: number]>([
    ['just before its usage', [...sixWords, { usage: used(20, 9_000) }], 6],
    ['after a hidden thought, before its usage', [role, { text: 'Yes.' }, { usage: used(20, 9_000) }], 2],
    ['before the first word of it', [role, ...sixWords, { usage: used(20, 9_000) }], 1],
  ])('%s', async (_rule, beats, events) => {
    fixture.engine.play(beats)
    expect(await chargedAfter(events)).toBe(20n + 90_000n)
    expect(fixture.engine.calls[0]?.signal.aborted).toBe(false)
  })

  test('in a way that only its signal tells, while the engine is silent', async () => {
    const thought = Promise.withResolvers<void>()
    fixture.engine.play([{ text: 'one' }, { until: thought.promise }, { text: ' two' }, { usage: used(20, 9_000) }])
    const customer = await fixture.customer(10)
    const client = new AbortController()
    const answer = await fixture.chat(customer, { stream: true }, { signal: client.signal })
    const reader = answer.body?.getReader()
    await reader?.read()
    const next = reader?.read().catch(() => null)
    client.abort()
    expect([fixture.engine.calls[0]?.signal.aborted, await fixture.openHolds()]).toEqual([false, 1])
    thought.resolve()
    await next
    await expect.poll(() => fixture.openHolds()).toBe(0)
    expect((await fixture.ledger(customer.account)).charged).toBe(20n + 90_000n)
  })

  test('an engine with running usage is aborted with the next of its words', async () => {
    const second = Promise.withResolvers<void>()
    fixture.engine.play([
      { text: 'one', running: used(20, 700) },
      { until: second.promise },
      { text: ' two', running: used(20, 900) },
      'silence',
    ])
    const { over, charged } = await leave(1)
    second.resolve()
    await over
    expect(fixture.engine.calls[0]?.signal.aborted).toBe(true)
    expect(await charged()).toBe(20n + 9_000n)
  })
})

describe('an engine that says nothing of its usage', () => {
  test('is aborted 30 s after the reader left, and what it made is counted', async () => {
    fixture.engine.play([role, ...sixWords, 'silence'])
    const { over, charged } = await leave(2)
    await vi.advanceTimersByTimeAsync(29_900)
    expect([fixture.engine.calls[0]?.signal.aborted, await fixture.openHolds()]).toEqual([false, 1])
    await vi.advanceTimersByTimeAsync(200)
    expect(fixture.engine.calls[0]?.signal.aborted).toBe(true)
    await over
    expect(await charged()).toBe(prompt + 60n)
  })

  test('owes the prompt once it began to answer, whatever of it was read', async () => {
    fixture.engine.play([role, 'silence'])
    expect(await chargedAfter(1)).toBe(prompt)
  })

  test('and says it once it is aborted: then by its word', async () => {
    fixture.engine.play([...sixWords, 'silence'], { usage: used(12, 500) })
    expect(await chargedAfter(2)).toBe(12n + 5_000n)
  })

  test('and hangs after its abort is waited for five seconds more, and what comes then is free', async () => {
    fixture.engine.play([...sixWords, 'silence'], 'goes on')
    const { over, charged } = await leave(6)
    await vi.advanceTimersByTimeAsync(34_900)
    expect(await fixture.openHolds()).toBe(1)
    await vi.advanceTimersByTimeAsync(200)
    await over
    expect(await charged()).toBe(prompt + 60n)
  })

  test('and breaks off by itself before its first word is free', async () => {
    const broken = Promise.withResolvers<void>()
    fixture.engine.play([role, { until: broken.promise }, { fail: inferenceFailed() }])
    const { over, charged } = await leave(1)
    broken.resolve()
    await over?.catch(() => undefined)
    await expect.poll(() => fixture.openHolds()).toBe(0)
    expect(await charged()).toBe(0n)
  })

  test('generates no more than its hold covers once the caller has left', async () => {
    const more = Promise.withResolvers<void>()
    fixture.engine.play([
      { text: 'one' },
      { until: more.promise },
      ...words(...Array.from({ length: 9_000 }, () => ' a')),
    ])
    const { over, charged } = await leave(1, { body: { max_tokens: 10 } })
    more.resolve()
    await over
    expect(fixture.engine.calls[0]?.signal.aborted).toBe(true)
    expect(await charged()).toBeLessThan(500n)
  })

  const alphabet = Array.from({ length: 900 }, (_, index) => String.fromCodePoint(0x12000 + index))
  test.each<[what: string, tokens: string[]]>([
    ['blanks', Array.from({ length: 600 }, () => ' ')],
    ['lines of nothing', Array.from({ length: 600 }, () => '\n')],
    ['base64', [...randomBytes(450).toString('base64')]],
    ['CSV', [...Array.from({ length: 120 }, (_, row) => `${row},${row * 7919}`).join('\n')].slice(0, 600)],
    ['cuneiform', alphabet.slice(0, 600)],
    ['pieces of a thought that is kept back', Array.from({ length: 600 }, () => '')],
  ])('a token for each of its pieces at least: %s', async (_what, tokens) => {
    fixture.engine.play([{ text: 'Well: ' }, ...tokens.map(text => ({ delta: { content: text } })), 'silence'])
    expect(await chargedAfter(3)).toBeGreaterThanOrEqual(prompt + 10n * BigInt(tokens.length))
  })

  test.each<[what: string, text: string, tokens: number]>([
    ['blanks', ' '.repeat(6_000), 5_800],
    ['base64', randomBytes(4_500).toString('base64'), 3_600],
    ['CSV', Array.from({ length: 800 }, (_, row) => `${row % 10},${(row * 7919) % 100_000}`).join('\n'), 5_000],
    ['cuneiform', alphabet.join(''), 3_500],
  ])('a text in one piece counts as the most expensive tokenizers count it: %s', async (_what, text, tokens) => {
    fixture.engine.play([{ text }, 'silence'])
    expect(await chargedAfter(1)).toBeGreaterThanOrEqual(prompt + 10n * BigInt(tokens))
  })

  test('a text of words counts by its words, however it is cut', async () => {
    const text = 'The lighthouse keeper counted indivisible waves until midnight came, and nobody answered. '
    fixture.engine.play([{ text: text.repeat(20) }, 'silence'])
    const tokens = 15n * 20n
    const charged = await chargedAfter(1)
    expect(charged).toBeGreaterThan(10n * tokens - 10n)
    expect(charged).toBeLessThan(prompt + 12n * tokens)
  })
})

describe('a reasoning model that hides its thoughts, and says nothing of its usage', () => {
  const answer = words(...Array.from({ length: 40 }, () => ' word'))

  async function leftAfterThinking(seconds: number, at: ChatFixture): Promise<bigint> {
    const thought = Promise.withResolvers<void>()
    at.engine.play([role, { until: thought.promise }, ...answer, { until: new Promise(() => undefined) }])
    const { over, charged } = await leave(1, { at })
    at.service.clock.pass(seconds * 1_000)
    thought.resolve()
    await vi.advanceTimersByTimeAsync(36_000)
    await over
    return charged()
  }

  test('is charged for its silence at the pace of its stream, or at a low one', async () => {
    expect(await leftAfterThinking(100, thinker)).toBe(prompt + 10n * (40n + 2_000n))
  })

  test('a model that does not reason is not', async () => {
    expect(await leftAfterThinking(100, fixture)).toBe(prompt + 400n)
  })

  test('nor is a pause of some seconds', async () => {
    expect(await leftAfterThinking(4, thinker)).toBe(prompt + 400n)
  })
})

describe('the caller of a whole answer leaves', () => {
  async function leaveWhole(beats: Beat[]) {
    const answered = Promise.withResolvers<void>()
    fixture.engine.play([{ until: answered.promise }, ...beats])
    const customer = await fixture.customer(1)
    const client = new AbortController()
    const answer = fixture.chat(customer, {}, { signal: client.signal }).catch(() => null)
    await expect.poll(() => fixture.engine.calls.length, { interval: 5 }).toBe(1)
    client.abort()
    return { customer, answer, answered }
  }

  test('the engine’s call finishes unread, under its hold, and is charged by its usage', async () => {
    const { customer, answer, answered } = await leaveWhole([...sixWords, { usage: used(20, 30) }])
    expect([fixture.engine.calls[0]?.signal.aborted, await fixture.openHolds()]).toEqual([false, 1])
    answered.resolve()
    await answer
    await expect.poll(() => fixture.openHolds()).toBe(0)
    expect((await fixture.ledger(customer.account)).charged).toBe(320n)
  })

  test('an engine that fails is free', async () => {
    const { customer, answer, answered } = await leaveWhole([{ fail: inferenceFailed() }])
    answered.resolve()
    await answer
    await expect.poll(() => fixture.openHolds()).toBe(0)
    expect((await fixture.ledger(customer.account)).charged).toBe(0n)
  })

  test('an engine that does not answer is given up after three quarters of an hour, for its prompt', async () => {
    fixture.engine.play(['silence'])
    const customer = await fixture.customer(1)
    const client = new AbortController()
    const answer = fixture.chat(customer, {}, { signal: client.signal }).catch(() => null)
    await vi.waitFor(() => expect(fixture.engine.calls.length).toBe(1), 10_000)
    client.abort()
    await vi.advanceTimersByTimeAsync(46 * 60_000)
    await answer
    expect([await fixture.openHolds(), (await fixture.ledger(customer.account)).charged]).toEqual([0, prompt])
  })
})
