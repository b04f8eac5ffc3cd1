import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { modelOffline } from '#contract/errors/errors.ts'
import { microUsd } from '#contract/money.ts'
import type { ChatCall } from '#engines/ports/engine.ts'
import { audit } from '#ledger/audit/audit.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { keptAnswerBytes, keptBytesADay } from '#service/http/idempotency/replayed-answer.ts'
import { workAfterLeavingMs } from '#service/http/route.ts'
import { mustCommit } from '../../../ledger/store/sample-ops.ts'
import { ScriptedChat, used, words } from '../../chat-script.ts'
import {
  answerBeats,
  answerMicroUsd,
  charges,
  claims,
  closeAll,
  gate,
  holds,
  type KeyFixture,
  openKeyFixture,
} from './key-fixture.ts'

let fixture: KeyFixture
let bearer: string
beforeEach(async () => {
  fixture = await openKeyFixture()
  bearer = await fixture.opened.key(1)
})
afterEach(async () => {
  expect((await audit(fixture.opened.database)).findings).toEqual([])
  await closeAll([fixture])
})

const stream = { stream: true, stream_options: { include_usage: true } }
const ask = (key = 'one', signal?: AbortSignal) =>
  fixture.ask(bearer, { key, body: stream, ...(signal ? { signal } : {}) })
const states = async () => (await claims(fixture)).map(claim => claim.state)

/** Reads so many events and leaves. */
async function readAndLeave(response: Response, events: number): Promise<string> {
  const reader = response.body?.getReader()
  let text = ''
  for (let event = 0; event < events; event++) text += Buffer.from((await reader?.read())?.value ?? []).toString()
  await reader?.cancel()
  return text
}

/** Runs what leaves a stream, and lets the time pass that it goes on unread. */
async function unreadTime(run: () => Promise<unknown>): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await run()
  await vi.advanceTimersByTimeAsync(36_000)
  vi.useRealTimers()
}

test('a repeat of a stream is a stream of the same bytes, charged once', async () => {
  const first = await ask()
  const text = await first.text()
  const second = await ask()
  expect(second.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect([first, second].map(answer => answer.headers.get('idempotent-replayed'))).toEqual([null, 'true'])
  expect(await second.text()).toBe(text)
  expect(text).toMatch(/"cost":\{"usd":0\.000035.*\n\ndata: \[DONE\]\n\n$/)
  expect(await charges(fixture)).toEqual([answerMicroUsd])
})

test('a stream and a whole answer are two requests', async () => {
  await (await ask()).text()
  expect((await fixture.ask(bearer, { key: 'one' })).status).toBe(422)
})

test('who sees the end of a stream can have it again at once', async () => {
  const reader = (await ask()).body?.getReader()
  let text = ''
  while (!text.endsWith('[DONE]\n\n')) text += Buffer.from((await reader?.read())?.value ?? []).toString()
  expect(await states()).toEqual(['done'])
  expect(await (await ask()).text()).toBe(text)
})

test.each([0, 1, 2, 3, 4])('a reader who leaves after %i events can have the whole stream later', async events => {
  const { until, open } = gate()
  fixture.chat.play([...words('one ', 'two '), { until }, { text: 'three' }, { usage: used(5, 3) }])
  const response = await ask()
  if (events > 2) open()
  const seen = await readAndLeave(response, events)
  if (events <= 2) expect((await ask()).status).toBe(409)
  open()
  await expect.poll(states).toEqual(['done'])
  const whole = await (await ask()).text()
  expect(whole.startsWith(seen)).toBe(true)
  expect(whole).toMatch(/three.*\n\ndata: .*"cost".*\n\ndata: \[DONE\]\n\n$/)
  expect(await charges(fixture)).toEqual([answerMicroUsd])
  expect(await holds(fixture)).toEqual([])
})

test('a connection that breaks before the stream begins leaves it whole', async () => {
  const { until, open } = gate()
  fixture.chat.play([{ until }, ...words('one ', 'two ', 'three'), { usage: used(5, 3) }])
  const caller = new AbortController()
  const response = ask('one', caller.signal)
  await expect.poll(() => fixture.chat.calls.length).toBe(1)
  caller.abort()
  open()
  await response.catch(() => 'aborted')
  await expect.poll(states).toEqual(['done'])
  expect(await (await ask()).text()).toContain('three')
  expect(await charges(fixture)).toEqual([answerMicroUsd])
})

test('a connection that breaks while a whole answer is made leaves it whole', async () => {
  const { until, open } = gate()
  fixture.chat.play([{ until }, ...words('one'), { usage: used(5, 3) }])
  const caller = new AbortController()
  const response = fixture.ask(bearer, { key: 'one', signal: caller.signal })
  await expect.poll(() => fixture.chat.calls.length).toBe(1)
  caller.abort()
  expect((await fixture.ask(bearer, { key: 'one' })).status).toBe(409)
  open()
  await response.catch(() => 'aborted')
  await expect.poll(states).toEqual(['done'])
  expect((await fixture.ask(bearer, { key: 'one' })).headers.get('idempotent-replayed')).toBe('true')
  expect(await charges(fixture)).toEqual([answerMicroUsd])
})

test('an engine that fails in the middle is an answer too: charged once for what it gave, and repeated', async () => {
  fixture.chat.play([...words('one '), { fail: modelOffline() }])
  const first = await (await ask()).text()
  expect(first).toContain('"error"')
  const charged = await charges(fixture)
  expect(charged).toHaveLength(1)
  fixture.chat.play([...words('better')])
  expect(await (await ask()).text()).toBe(first)
  expect(await charges(fixture)).toEqual(charged)
})

/** As a process does that takes the key over because this one was paused for longer than a lease. */
async function loseKey(): Promise<void> {
  const { store, clock } = fixture.opened
  const [row] = await claims(fixture)
  if (!row) throw new Error('No key is in use.')
  const gone = { op: 'claim', claim: row.id, from: 'running', to: 'gone', fence: row.fence, set: {} } as const
  const atMs = clock.now()
  expect(await store.commit([{ id: uuidV7(atMs), ops: [{ ...gone, atMs }] }])).toMatchObject([{ ok: true }])
}

test.each([
  ['who reads to the end', false],
  ['who leaves', true],
])('a stream whose key was lost to others is charged for what it gave a reader %s', async (_who, leaves) => {
  const { until, open } = gate()
  fixture.chat.play([...words('one ', 'two '), { until }, { text: 'three' }, { usage: used(5, 3) }])
  const response = await ask()
  await expect.poll(async () => (await claims(fixture)).length).toBe(1)
  await loseKey()
  const seen = leaves ? readAndLeave(response, 2) : response.text()
  open()
  await seen.catch(() => 'broken off')
  await expect.poll(() => holds(fixture)).toEqual([])
  expect(await charges(fixture)).toEqual([answerMicroUsd])
})

test('a whole answer whose key was lost to others is not delivered and costs nothing', async () => {
  const { until, open } = gate()
  fixture.chat.play([{ until }, ...words('one'), { usage: used(5, 3) }])
  const response = fixture.ask(bearer, { key: 'one' })
  await expect.poll(() => fixture.chat.calls.length).toBe(1)
  await loseKey()
  open()
  expect((await response).status).toBe(409)
  expect([await charges(fixture), await holds(fixture)]).toEqual([[], []])
})

test('a stream that is refused before its first piece, because others spent the credit meanwhile, leaves the key free', async () => {
  const { until, open } = gate()
  fixture.chat.play([{ role: true }, { until }, { text: 'all at once '.repeat(3_000) }, { usage: used(5, 3) }])
  bearer = await fixture.opened.key(0.1)
  const response = await ask()
  await expect.poll(() => holds(fixture)).toHaveLength(1)
  const { store, clock } = fixture.opened
  const caller = store.read.selectFrom('account').selectAll().where('held', '>', 0n)
  const { id: account, posted, held } = await caller.executeTakeFirstOrThrow()
  const id = uuidV7(clock.now())
  const lease = { owner: 'another call', untilMs: clock.now() + 60_000 }
  const amount = microUsd(posted - held)
  await store.commit([{ id, ops: [{ op: 'hold', hold: id, account, amount, lease, atMs: clock.now() }] }])
  open()
  expect(await response.text()).toContain('insufficient_credit')
  expect([await claims(fixture), await charges(fixture)]).toEqual([[], []])
  await store.commit([{ id: uuidV7(clock.now()), ops: [{ op: 'release', hold: id }] }])
  fixture.chat.play(answerBeats)
  expect(await (await ask()).text()).toContain('three')
  expect(await charges(fixture)).toEqual([answerMicroUsd])
})

test('work whose caller left ends after a time: its output is charged, and its end says that it was cut off', async () => {
  fixture.chat.play([...words('one '), 'silence'])
  const response = await ask()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    await readAndLeave(response, 1)
    await vi.advanceTimersByTimeAsync(workAfterLeavingMs - 1)
    expect(fixture.chat.calls[0]?.signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
  } finally {
    vi.useRealTimers()
  }
  await expect.poll(states).toEqual(['done'])
  const again = await (await ask()).text()
  expect(again).toMatch(/one.*\n\ndata: .*"error".*\n\ndata: \[DONE\]\n\n$/)
  expect(await charges(fixture)).toHaveLength(1)
})

test('a response whose caller left is kept as a failed one, numbered to its end', async () => {
  fixture.chat.play([...words('one '), 'silence'])
  const body = { input: 'hello', stream: true }
  const respond = () => fixture.ask(bearer, { key: 'one', path: '/responses', body })
  const response = await respond()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    await readAndLeave(response, 4)
    await vi.advanceTimersByTimeAsync(workAfterLeavingMs)
  } finally {
    vi.useRealTimers()
  }
  await expect.poll(states).toEqual(['done'])
  const again = await (await respond()).text()
  const events = [...again.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data))
  expect(events.map(event => event.sequence_number)).toEqual(events.map((_, index) => index))
  expect(events.at(-1)).toMatchObject({
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error' }, output: [{ content: [{ text: 'one ' }] }] },
  })
  expect(again).not.toContain('"choices"')
})

test('work without output before its caller left is charged nothing, and starts again', async () => {
  fixture.chat.play([{ role: true }, 'silence'])
  const response = await ask()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    await readAndLeave(response, 1)
    await vi.advanceTimersByTimeAsync(workAfterLeavingMs)
  } finally {
    vi.useRealTimers()
  }
  await expect.poll(async () => (await claims(fixture)).map(claim => claim.lease_owner)).toEqual([null])
  expect(await charges(fixture)).toEqual([])
  fixture.chat.play([...words('now'), { usage: used(5, 3) }])
  const again = await ask()
  expect([again.headers.get('idempotent-replayed'), await again.text()]).toEqual([null, expect.stringContaining('now')])
  expect(await charges(fixture)).toEqual([answerMicroUsd])
})

const large = 'x'.repeat(keptAnswerBytes / 4)

/** Sends more than its text with every piece, as an engine may. */
class BulkyChat extends ScriptedChat {
  override async *stream(call: ChatCall) {
    for await (const chunk of super.stream(call)) yield { ...chunk, padding: large }
  }
}

async function openBulky(): Promise<void> {
  await closeAll([fixture])
  fixture = await openKeyFixture({ chat: new BulkyChat() })
  bearer = await fixture.opened.key(1)
}

test('an answer that is too large to be kept is delivered whole, charged once, and not made again', async () => {
  fixture.chat.play([...words(large, large, large, large), { usage: used(5, 3) }])
  const first = await fixture.ask(bearer, { key: 'one' })
  expect((await first.text()).length).toBeGreaterThan(keptAnswerBytes)
  const again = await fixture.ask(bearer, { key: 'one' })
  expect([again.status, await again.json()]).toEqual([
    409,
    expect.objectContaining({ code: 'IDEMPOTENCY_ANSWER_NOT_KEPT' }),
  ])
  expect(fixture.chat.calls).toHaveLength(1)
  expect(await charges(fixture)).toEqual([answerMicroUsd])
})

test('answers of one account beyond a share of the disk are delivered and not kept', async () => {
  const again = async (key: string) => (await fixture.ask(bearer, { key })).status
  fixture.chat.play([...words(large, large, large, large.slice(keptAnswerBytes / 32)), { usage: used(5, 3) }])
  for (const key of ['one', 'two', 'three']) {
    const answer = await fixture.ask(bearer, { key })
    expect([answer.status, (await answer.text()).length > keptBytesADay / 3]).toEqual([200, true])
  }
  expect([await again('one'), await again('two'), await again('three')]).toEqual([200, 200, 409])
  expect(fixture.chat.calls).toHaveLength(3)
  bearer = await fixture.opened.key(1)
  await (await fixture.ask(bearer, { key: 'four' })).text()
  expect(await again('four')).toBe(200)
}, 120_000)

test('a stream that is too large to be kept is delivered whole, charged once, and not made again', async () => {
  await openBulky()
  fixture.chat.play([...words('a', 'b', 'c', 'd', 'the end'), { usage: used(5, 3) }])
  expect(await (await ask()).text()).toContain('the end')
  expect((await ask()).status).toBe(409)
  expect(fixture.chat.calls).toHaveLength(1)
  expect(await charges(fixture)).toEqual([answerMicroUsd])
})

test('a stream that is too large to be kept ends when its reader leaves, and is charged once', async () => {
  await openBulky()
  fixture.chat.play([...words('a', 'b', 'c', 'd'), 'silence'])
  await unreadTime(() => ask().then(answer => readAndLeave(answer, 4)))
  await expect.poll(states).toEqual(['done'])
  expect([fixture.chat.calls[0]?.signal.aborted, await holds(fixture)]).toEqual([true, []])
  expect((await ask()).status).toBe(409)
  expect(await charges(fixture)).toHaveLength(1)
})

test('a stream that is too large and whose hold others have ended is charged anew when its reader leaves', async () => {
  await openBulky()
  const { until, open } = gate()
  fixture.chat.play([...words('a', 'b', 'c', 'd'), { until }, 'silence'])
  const response = await ask()
  const reader = response.body?.getReader()
  for (let event = 0; event < 4; event++) await reader?.read()
  const [hold] = await holds(fixture)
  await mustCommit(fixture.opened.store, { op: 'release', hold: hold?.id ?? '' })
  await unreadTime(async () => {
    await reader?.cancel()
    open()
  })
  await expect.poll(states).toEqual(['done'])
  expect((await ask()).status).toBe(409)
  expect([await holds(fixture), await charges(fixture)]).toEqual([[], [expect.any(BigInt)]])
})
