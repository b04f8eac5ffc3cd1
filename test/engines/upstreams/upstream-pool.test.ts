import { expect, test } from 'vitest'
import {
  contentViolation,
  inferenceFailed,
  modelOffline,
  modelOverloaded,
  requestTimeout,
} from '#contract/errors/errors.ts'
import { refusalError } from '#engines/http/upstream-error.ts'
import { isNotBegun, type PoolOptions, type Upstream } from '#engines/upstreams/upstream.ts'
import { leaveOutMs, probeEveryMs } from '#engines/upstreams/upstream-health.ts'
import { UpstreamPool } from '#engines/upstreams/upstream-pool.ts'
import { callingAccount, inRequest } from '#host/tracing/tracing.ts'
import { TestClock } from '../../service/open-service.ts'

/** Answers its name, or what a test says. */
interface Scripted {
  answer(): Promise<string>
  pieces?(): AsyncIterable<string>
}

const says = (text: string): Scripted => ({ answer: async () => text })
const fails = (error: () => unknown): Scripted => ({ answer: () => Promise.reject(error()) })

const upstream = (name: string, engine: Scripted, more: Partial<Upstream<Scripted>> = {}): Upstream<Scripted> => ({
  ...{ name, engine, engineModel: `model of ${name}`, weight: 1, concurrency: 10 },
  ...more,
})

function poolOf(upstreams: Upstream<Scripted>[], more: Partial<PoolOptions<Scripted>> = {}) {
  const clock = new TestClock()
  const news: string[] = []
  const pool = new UpstreamPool({
    upstreams,
    clock,
    queue: { length: 1, waitMs: 60_000 },
    news: { leftOut: (name, reason) => news.push(`${name} ${reason}`), back: name => news.push(`${name} back`) },
    ...more,
  })
  const ask = (signal = new AbortController().signal) =>
    pool.answer({ engineModel: 'public', signal }, engine => engine.answer())
  return { pool, clock, news, ask }
}

const kindOf = (work: Promise<unknown>) =>
  work.then(
    () => 'answered',
    error => error.kind ?? error.message,
  )

test('calls are shared by weight, in turns', async () => {
  const { ask } = poolOf([upstream('a', says('a'), { weight: 3 }), upstream('b', says('b'))])
  const order: string[] = []
  for (let call = 0; call < 8; call++) order.push(await ask())
  expect(order.join('')).toBe('aabaaaba')
})

test('each is asked for its own name of the model', async () => {
  const { pool } = poolOf([upstream('a', says('a'))])
  const { signal } = new AbortController()
  expect(await pool.answer({ engineModel: 'public', signal }, async (_, call) => call.engineModel)).toBe('model of a')
})

test.each([
  ['one that is down', modelOffline, 'b'],
  ['one that fails', inferenceFailed, 'b'],
  ['one that is overloaded', modelOverloaded, 'b'],
  ['an unexpected error', () => new Error('oh'), 'b'],
  ['a refusal of the request', () => contentViolation({ error: 'no' }), 'CONTENT_POLICY_VIOLATION'],
])('after %s: %s', async (_, error, end) => {
  const { ask } = poolOf([upstream('a', fails(error), { weight: 9 }), upstream('b', says('b'))])
  const context = { requestId: 'r', trace: null, account: null, retries: 0 }
  const answer = await inRequest(context, () => ask().catch(thrown => thrown.kind))
  expect([answer, context.retries]).toEqual([end, end === 'b' ? 1 : 0])
})

test('if all fail, the last error is returned', async () => {
  const { ask } = poolOf([upstream('a', fails(modelOffline)), upstream('b', fails(inferenceFailed))])
  expect(await kindOf(ask())).toBe('INFERENCE_FAILED')
})

test('work that may have begun is not begun elsewhere', async () => {
  const { pool } = poolOf([upstream('a', fails(inferenceFailed)), upstream('b', says('b'))])
  const { signal } = new AbortController()
  const call = { engineModel: 'public', signal }
  expect(await kindOf(pool.answer(call, engine => engine.answer(), isNotBegun))).toBe('INFERENCE_FAILED')
})

test('three failures leave one out; one call tries it again, and a failed trial doubles the wait', async () => {
  let isDown = true
  const engine: Scripted = { answer: async () => (isDown ? Promise.reject(modelOffline()) : 'a') }
  const { ask, clock, news, pool } = poolOf([upstream('a', engine)])
  for (let call = 0; call < 3; call++) expect(await kindOf(ask())).toBe('MODEL_OFFLINE')
  expect([news, pool.states[0]?.calls, pool.states[0]?.state]).toEqual([['a MODEL_OFFLINE'], 3, 'down'])
  const refused = await ask().catch(error => error)
  expect([refused.status, refused.headers['retry-after'], pool.states[0]?.calls]).toEqual([503, '5', 3])
  clock.pass(leaveOutMs)
  expect([await kindOf(ask()), pool.states[0]?.calls]).toEqual(['MODEL_OFFLINE', 4])
  clock.pass(leaveOutMs)
  expect([await kindOf(ask()), pool.states[0]?.calls]).toEqual(['MODEL_OFFLINE', 4])
  clock.pass(leaveOutMs)
  isDown = false
  const both = await Promise.all([kindOf(ask()), kindOf(ask())])
  expect([both, news, pool.states[0]?.state]).toEqual([
    ['answered', 'MODEL_OFFLINE'],
    ['a MODEL_OFFLINE', 'a back'],
    'up',
  ])
})

const as = <Value>(account: string | null, run: () => Value) =>
  inRequest({ requestId: 'r', trace: null, account, retries: 0 }, run)

const refusal = { retryAfter: undefined, body: null }
const refusedContent = () => refusalError({ ...refusal, status: 403 }, {})

/** Lets a probe that has begun come to its end. */
const settled = () => new Promise<void>(resolve => setImmediate(resolve))

const works = () => Promise.resolve('yes')
const isBroken = () => Promise.reject(inferenceFailed())
const refusedKey = () => refusalError({ ...refusal, status: 401 }, {})

test.each<[rule: string, error: () => unknown, probe: (() => Promise<unknown>) | null, state: string]>([
  ['refused connections', modelOffline, works, 'down'],
  ['refused connections, where nothing can be probed', modelOffline, null, 'down'],
  ['failures, where a probe works', inferenceFailed, works, 'up'],
  ['failures, where a probe fails', inferenceFailed, isBroken, 'down'],
  ['failures, where a probe cannot connect', inferenceFailed, () => Promise.reject(modelOffline()), 'down'],
  [
    'failures, where a probe is told to try again in a moment',
    inferenceFailed,
    () => Promise.reject(modelOverloaded()),
    'up',
  ],
  [
    'failures, where a probe is refused as a request',
    inferenceFailed,
    () => Promise.reject(contentViolation({ error: 'no' })),
    'up',
  ],
  ['failures, where nothing can be probed', inferenceFailed, null, 'up'],
  ['unexpected errors', () => new Error('oh'), works, 'up'],
  ['time-outs, for which a request may ask', requestTimeout, works, 'up'],
  ['time-outs, where a probe is late too', requestTimeout, () => Promise.reject(requestTimeout()), 'down'],
  ['refused content that looks like an absent model', refusedContent, works, 'up'],
  ['a key that is not taken from callers alone', refusedKey, works, 'up'],
  ['a key that is not taken', refusedKey, () => Promise.reject(refusedKey()), 'down'],
])('D11: whether an upstream is taken out after %s, from any caller', async (_, error, probe, state) => {
  for (const callers of [
    ['x', 'x', 'x', 'x'],
    ['x', 'y', 'x', 'z'],
    [null, null, null, null],
  ]) {
    const { ask, pool } = poolOf([upstream('a', fails(error))], probe ? { probe } : {})
    for (const caller of callers) {
      await as(caller, () => kindOf(ask()))
      await settled()
    }
    expect(pool.states[0]?.state).toBe(state)
  }
})

test('D11: a probe belongs to no caller, follows three failures in a row, and runs at most once in five seconds', async () => {
  const probes: unknown[] = []
  const probe = async (_: Scripted, { engineModel }: { engineModel: string }) =>
    void probes.push([engineModel, callingAccount()])
  let isBad = true
  const engine: Scripted = { answer: async () => (isBad ? Promise.reject(inferenceFailed()) : 'a') }
  const { ask, clock } = poolOf([upstream('a', engine)], { probe })
  const calls = async (count: number) => {
    for (let call = 0; call < count; call++) {
      await as('x', () => kindOf(ask()))
      await settled()
    }
    return probes.length
  }
  expect([await calls(2), await calls(1), await calls(9)]).toEqual([0, 1, 1])
  clock.pass(probeEveryMs)
  expect([await calls(5), probes[0]]).toEqual([2, ['model of a', null]])
  isBad = false
  await calls(1)
  isBad = true
  clock.pass(probeEveryMs)
  expect([await calls(2), await calls(1)]).toEqual([2, 3])
})

test.each<[rule: string, probe: (() => Promise<unknown>) | null, state: string]>([
  ['a probe tells, and works', works, 'up'],
  ['a probe tells, and fails', isBroken, 'down'],
  ['that it answers at all is enough, where nothing can be probed', null, 'up'],
])('D11: when the call that tries one again fails, %s', async (_, probe, state) => {
  let error: () => unknown = modelOffline
  const engine: Scripted = { answer: () => Promise.reject(error()) }
  const { ask, clock, pool } = poolOf([upstream('a', engine)], probe ? { probe } : {})
  for (let call = 0; call < 3; call++) await kindOf(ask())
  clock.pass(leaveOutMs)
  error = inferenceFailed
  expect([pool.states[0]?.state, await as('x', () => kindOf(ask()))]).toEqual(['trial', 'INFERENCE_FAILED'])
  await settled()
  expect(pool.states[0]?.state).toBe(state)
})

test.each<[rule: string, others: Scripted[], states: string[]]>([
  ['where the other fails too, neither is looked at', [fails(inferenceFailed)], ['up', 'up']],
  ['where the other refuses the request, neither is', [fails(() => contentViolation({ error: 'no' }))], ['up', 'up']],
  ['where the other does it well, the first is', [says('b')], ['down', 'up']],
  ['where a third does it well, both are', [fails(inferenceFailed), says('c')], ['down', 'down', 'up']],
  ['where the other cannot be reached, both are out', [fails(modelOffline)], ['down', 'down']],
])('a failure that may be the request’s: %s', async (_, others, states) => {
  const upstreams = [fails(inferenceFailed), ...others].map((engine, place) => upstream(`${place}`, engine))
  const { ask, pool } = poolOf(upstreams, { probe: isBroken })
  for (let call = 0; call < 9; call++) {
    await as(`caller ${call}`, () => kindOf(ask()))
    await settled()
  }
  expect(pool.states.map(({ state }) => state)).toEqual(states)
})

test('D11: after a failure, that caller alone tries the other upstreams first for a while', async () => {
  const slow: Scripted = { answer: () => Promise.reject(requestTimeout()) }
  const { ask, clock, pool } = poolOf([upstream('a', slow, { weight: 9 }), upstream('b', says('b'))])
  const callsOfA = async (caller: string, calls: number) => {
    const before = pool.states[0]?.calls ?? 0
    for (let call = 0; call < calls; call++) await as(caller, ask)
    return (pool.states[0]?.calls ?? 0) - before
  }
  await callsOfA('x', 4)
  expect([await callsOfA('x', 4), pool.states[0]?.state]).toEqual([0, 'up'])
  clock.pass(leaveOutMs)
  expect(await callsOfA('x', 4)).toBeGreaterThan(0)
  expect(await callsOfA('y', 4)).toBeGreaterThan(0)
})

test('an overloaded one is spared as long as it asks, and keeps its health', async () => {
  let isBusy = true
  const engine: Scripted = {
    answer: async () => (isBusy ? Promise.reject(modelOverloaded({ 'retry-after': '7' })) : 'a'),
  }
  const { ask, clock, pool } = poolOf([upstream('a', engine)])
  expect(await kindOf(ask())).toBe('MODEL_OVERLOADED')
  isBusy = false
  const refused = await ask().catch(error => error)
  expect([refused.kind, refused.headers['retry-after'], pool.states[0]?.state]).toEqual(['MODEL_OVERLOADED', '7', 'up'])
  clock.pass(7_000)
  expect(await ask()).toBe('a')
})

test('its Retry-After is passed on to callers until it has passed, whatever it refuses meanwhile', async () => {
  const refusals = [modelOverloaded({ 'retry-after': '7' }), modelOverloaded()].map(error => {
    const { promise, reject } = Promise.withResolvers<string>()
    return { promise, refuse: () => reject(error) }
  })
  let asked = 0
  const engine: Scripted = { answer: () => refusals[asked++]?.promise ?? Promise.resolve('a') }
  const { ask, clock } = poolOf([upstream('a', engine)])
  // Both were on their way when the first was refused.
  const calls = [ask(), ask()].map(kindOf)
  for (const { refuse, promise } of refusals) {
    refuse()
    await promise.catch(() => null)
  }
  expect(await Promise.all(calls)).toEqual(['MODEL_OVERLOADED', 'MODEL_OVERLOADED'])
  const refused = await ask().catch(error => error)
  expect(refused.headers['retry-after']).toBe('7')
  clock.pass(3_000)
  expect((await ask().catch(error => error)).headers['retry-after']).toBe('4')
})

/** Answers when it is let. */
function gated() {
  const gates: (() => void)[] = []
  const engine: Scripted = { answer: () => new Promise(resolve => gates.push(() => resolve('let'))) }
  return { engine, open: () => gates.shift()?.() }
}

test('calls beyond the slots are queued; beyond the queue they get a short Retry-After', async () => {
  const { engine, open } = gated()
  const { ask, pool } = poolOf([upstream('a', engine, { concurrency: 1 })])
  const [first, second] = [ask(), ask()]
  const refused = await ask().catch(error => error)
  expect([refused.kind, refused.status, Number(refused.headers['retry-after']) >= 1]).toEqual([
    'MODEL_OVERLOADED',
    429,
    true,
  ])
  expect([pool.waiting, pool.states[0]?.running]).toEqual([1, 1])
  open()
  await first
  open()
  expect([await second, pool.waiting]).toEqual(['let', 0])
  expect(pool.states[0]?.running).toBe(0)
})

test('a call that leaves the queue, or waits too long, frees its place', async () => {
  const { engine, open } = gated()
  const { ask, pool } = poolOf([upstream('a', engine, { concurrency: 1 })], { queue: { length: 1, waitMs: 1 } })
  const first = ask()
  const leaving = new AbortController()
  const left = ask(leaving.signal)
  leaving.abort(new Error('left'))
  expect(await kindOf(left)).toBe('left')
  expect(await kindOf(ask())).toBe('MODEL_OVERLOADED')
  expect(pool.waiting).toBe(0)
  open()
  await first
})

test('a call whose caller leaves says nothing about the upstream', async () => {
  const leaving = new AbortController()
  const { ask, pool } = poolOf([upstream('a', fails(inferenceFailed)), upstream('b', says('b'))])
  leaving.abort(new Error('left'))
  expect(await kindOf(ask(leaving.signal))).toBe('left')
  expect(pool.states.map(({ calls }) => calls)).toEqual([0, 0])
})

async function* after(text: string, error?: unknown): AsyncGenerator<string> {
  if (text) yield text
  if (error) throw error
}

async function read(pieces: AsyncIterable<string>) {
  let text = ''
  try {
    for await (const piece of pieces) text += piece
  } catch (error) {
    text += `!${(error as { kind?: string }).kind}`
  }
  return text
}

test.each([
  ['before its first piece another takes over', '', 'b'],
  ['after it none does', 'a', 'a!INFERENCE_FAILED'],
])('of a stream that breaks: %s', async (_, text, end) => {
  const breaks: Scripted = { ...says('a'), pieces: () => after(text, inferenceFailed()) }
  const { pool } = poolOf([upstream('a', breaks), upstream('b', { ...says('b'), pieces: () => after('b') })])
  const call = { engineModel: 'public', signal: new AbortController().signal }
  expect(await read(pool.stream(call, engine => engine.pieces?.() ?? after('none')))).toBe(end)
  expect(pool.states.map(({ running }) => running)).toEqual([0, 0])
  expect(pool.states[0]?.failures).toEqual({ INFERENCE_FAILED: 1 })
})

test('a stream without a first piece in time is left for another, and ended', async () => {
  let wasEnded = false
  const hangs: Scripted = { ...says('a'), pieces: () => after('never') }
  const { pool } = poolOf([
    upstream('a', hangs, { firstByteMs: 1 }),
    upstream('b', { ...says('b'), pieces: () => after('b') }),
  ])
  const call = { engineModel: 'public', signal: new AbortController().signal }
  const pieces = pool.stream(call, (engine, { signal }) => {
    if (engine !== hangs) return engine.pieces?.() ?? after('none')
    signal.addEventListener('abort', () => {
      wasEnded = true
    })
    return { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) }
  })
  expect([await read(pieces), wasEnded]).toEqual(['b', true])
})

test('a stream that stops in its middle is ended, and its place is free', async () => {
  let wasEnded = false
  const { pool } = poolOf([upstream('a', says('a'), { idleMs: 1 }), upstream('b', says('b'))])
  const call = { engineModel: 'public', signal: new AbortController().signal }
  const pieces = pool.stream(call, async function* (_, { signal }) {
    signal.addEventListener('abort', () => {
      wasEnded = true
    })
    yield 'some'
    await new Promise(() => undefined)
  })
  expect([await read(pieces), wasEnded, pool.states[0]?.running]).toEqual(['some!REQUEST_TIMEOUT', true, 0])
  expect(pool.states.map(({ calls }) => calls)).toEqual([1, 0])
})

test('a reader that leaves frees the place, and ends the call', async () => {
  let wasEnded = false
  const { pool } = poolOf([upstream('a', { ...says('a'), pieces: () => after('a') })])
  const call = { engineModel: 'public', signal: new AbortController().signal }
  const pieces = pool.stream(call, (_, { signal }) => {
    signal.addEventListener('abort', () => {
      wasEnded = true
    })
    return after('a')
  })
  for await (const _ of pieces) break
  expect([pool.states[0]?.running, wasEnded]).toEqual([0, true])
})
