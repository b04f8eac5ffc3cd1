/**
 * On a socket most chunks of a stream go straight from the engine's connection to the caller's. Whichever way they take,
 * callers read the same.
 */
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { Listener } from '#service/http/listener.ts'
import { chunk, event, finish, type Upstream, upstream, usage } from '../engines/openai/upstream.ts'
import { configuredModels } from './config/configured-models.ts'
import { type OpenedService, openService } from './open-service.ts'

/** The longest silence that the model `hurried` may make. */
const idleMs = 400

let answer: (response: ServerResponse) => Promise<void>
let server: Upstream
let service: OpenedService
let listener: Listener
let key: string

beforeAll(async () => {
  server = await upstream(async response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.socket?.setNoDelay()
    await answer(response)
  })
  const model = (id: string, upstream: object) => ({
    ...{ id, type: 'text', contextTokens: 100_000 },
    price: { inputPerMillionUsd: 1000, outputPerMillionUsd: 1000 },
    upstreams: [{ engine: 'openai', baseUrl: server.baseUrl, ...upstream }],
  })
  const text = JSON.stringify({
    publicUrl: 'http://127.0.0.1:8402',
    models: [model('told', {}), model('hurried', { idleMs })],
  })
  service = await openService({ models: () => configuredModels(text) })
  key = await service.key(50)
  listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  listener.serve((request, bindings) => service.service.app.fetch(request, bindings))
})
afterAll(async () => {
  await listener.close(0)
  await service.close()
  await server.close()
})

const body = (more: object) =>
  JSON.stringify({
    ...{ model: 'told', messages: [{ role: 'user', content: 'count' }], stream: true, max_tokens: 5_000 },
    ...{ stream_options: { include_usage: true }, ...more },
  })

type Ask = (path: string, init: RequestInit) => Promise<Response>

const bySocket: Ask = (path, init) => fetch(`http://127.0.0.1:${listener.port}${path}`, init)
const byIterator: Ask = async (path, init) => service.request(path, init)

const asked = (ask: Ask, more: object, headers: Record<string, string> = {}) =>
  ask('/api/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: body(more),
  })

async function read(ask: Ask, more: object = {}, headers: Record<string, string> = {}) {
  const response = await asked(ask, more, headers)
  const text = await response.text()
  const charges = await service.store.read
    .selectFrom('entry')
    .select('effect')
    .where('request', '=', response.headers.get('cf-ray') ?? '')
    .where('kind', '=', 'CHARGE')
    .execute()
  return { status: response.status, text, charged: charges.map(({ effect }) => effect) }
}

const told = (...texts: string[]) => texts.map(text => event(chunk(text)))
const end = [event(finish), event({ ...chunk(''), choices: [], usage }), 'data: [DONE]\n\n']
const withDelta = (delta: object, index = 0) => ({ ...chunk(''), choices: [{ index, delta, finish_reason: null }] })
const call = { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }] }
const accents = Buffer.from(told('ä', '日本', '🎈', 'ß').join(''))

describe.each<[what: string, pieces: readonly (string | Buffer)[], more?: object, headers?: Record<string, string>]>([
  ['text only', [...told('one ', 'two ', 'three ', 'four'), ...end]],
  ['several events in a packet', [told('a', 'b', 'c').join(''), told('d', 'e').join(''), ...end]],
  ['text and its end in one packet', [...told('a', 'b'), [...told('c', 'd'), ...end].join('')]],
  ['events cut anywhere', [...accents].map(byte => Buffer.from([byte])).concat(end.map(text => Buffer.from(text)))],
  ['escapes, and quotes', [...told('a', '"b"\n', '\\c\t', 'data: {}\n\n', '\u2028'), ...end]],
  ['a tool call between texts', [...told('a', 'b'), event(withDelta(call)), ...told('c', 'd'), ...end]],
  ['thinking, then text', [event(withDelta({ reasoning_content: 'hm' })), ...told('a', 'b', 'c'), ...end]],
  [
    'two choices in turn',
    [0, 1, 0, 1, 0].map(index => event(withDelta({ content: `of ${index} ` }, index))).concat(end),
    { n: 2 },
  ],
  ['usage beside the text', [...told('a', 'b'), event(chunk('c', { usage })), ...told('d', 'e'), ...end]],
  [
    'stripped thinking',
    [...told('<thi', 'nk>no', '</think>', 'yes', ' indeed'), ...end],
    { strip_thinking_response: true },
  ],
  ['an engine that breaks off', told('a', 'b', 'c')],
  [
    'an engine that exceeds its limit',
    [...told('a', ...Array.from({ length: 200 }, () => 'many words ')), ...end],
    { max_tokens: 2 },
  ],
  ['long enough for checkpoints', [...told(...Array.from({ length: 400 }, (_, at) => `${at} is a number, `)), ...end]],
])('%s', (_what, sent, more, headers) => {
  test.each([0, 3])('read the same on a socket, with %s ms between packets', async ms => {
    answer = async response => {
      for (const piece of sent) {
        if (response.destroyed) return
        response.write(piece)
        await sleep(sent.length > 100 ? 0 : ms)
      }
      response.end()
    }
    const [direct, iterated] = [await read(bySocket, more, headers), await read(byIterator, more, headers)]
    expect(direct.status).toBe(200)
    expect(direct).toEqual(iterated)
    expect(direct.charged).not.toEqual([])
  })
})

describe('a silence', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  /** A stream whose engine sends each text once the one before was read, and after that is silent for so long. */
  async function streamed(texts: readonly string[], silenceMs: number) {
    const engine = Promise.withResolvers<ServerResponse>()
    answer = async response => engine.resolve(response)
    const asking = asked(bySocket, { model: 'hurried' })
    const response = await engine.promise
    let seen = ''
    let isOver = false
    let reader: ReadableStreamDefaultReader<string> | undefined
    const readUntil = async (isRead: () => boolean) => {
      reader ??= (await asking).body?.pipeThrough(new TextDecoderStream()).getReader()
      while (!isOver && !isRead()) {
        const step = await reader?.read()
        isOver = step?.done !== false
        seen += step?.value ?? ''
      }
    }
    for (const text of texts) {
      response.write(told(text).join(''))
      await readUntil(() => seen.includes(`"content":"${text}"`))
      await vi.advanceTimersByTimeAsync(silenceMs)
    }
    const finish = () => {
      response.end(end.join(''))
      return readUntil(() => false)
    }
    return { seen: () => seen, finish, rest: () => readUntil(() => false) }
  }

  test('ends with each chunk, also with those that are sent at once', async () => {
    const { seen, finish } = await streamed(
      Array.from({ length: 8 }, (_, at) => `${at} `),
      idleMs - 1,
    )
    await finish()
    expect(seen()).not.toContain('"finish_reason":"error"')
    expect(seen()).toContain('"finish_reason":"stop"')
  })

  test('ends the stream if it is too long, also after chunks that were sent at once', async () => {
    const { rest, seen } = await streamed(['a', 'b', 'c'], idleMs - 1)
    await vi.advanceTimersByTimeAsync(1)
    await rest()
    expect(seen()).toContain('"finish_reason":"error"')
  })
})
