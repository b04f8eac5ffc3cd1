import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { Client } from 'undici'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { abuseBlock, bodyBytes } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'
import { spendableForMs } from '#ledger/bounds.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { refusedPayment } from '#payments/payment/payment.ts'
import { Listener } from '#service/http/listener.ts'
import { type OpenedService, openService } from './open-service.ts'

let opened: OpenedService
let listener: Listener
let client: Client

beforeEach(async () => {
  opened = await openService()
  listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  listener.serve((request, bindings) => opened.service.app.fetch(request, bindings))
  client = new Client(`http://127.0.0.1:${listener.port}`)
})

afterEach(async () => {
  await client.destroy()
  await listener.close(0)
  await opened.close()
})

const chat = { model: 'demo-chat', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 8 }
const headersFor = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })

/** Said of one connection or one moment; a 402 has a nonce. */
const passing = new Set([
  'connection',
  'keep-alive',
  'date',
  'content-length',
  'cf-ray',
  'x-service-balance-usd',
  'payment-required',
])
const lasting = (headers: Iterable<[string, unknown]>) =>
  Object.fromEntries([...headers].filter(([name]) => !passing.has(name) && !name.startsWith('x-ratelimit-remaining')))

describe('over a socket an answer is the same as without one', () => {
  test.each([
    ['a paid answer', 'POST', '/chat/completions', '1', chat],
    ['a refusal for want of credit', 'POST', '/chat/completions', '0', chat],
    ['a refusal of the body', 'POST', '/chat/completions', '1', { model: 'demo-chat' }],
    ['a list', 'GET', '/models', '1', undefined],
    ['an address that is not there', 'GET', '/nothing', '1', undefined],
  ] as const)('%s', async (_, method, path, usd, body) => {
    const key = await opened.key(Number(usd))
    const sent = { method, headers: headersFor(key), ...(body ? { body: JSON.stringify(body) } : {}) }
    const plain = await opened.request(`/api/v1${path}`, sent)
    const answer = await client.request({ path: `/api/v1${path}`, ...sent })
    const text = await answer.body.text()
    expect(answer.statusCode).toBe(plain.status)
    expect(lasting(Object.entries(answer.headers))).toEqual(lasting(plain.headers))
    expect(Number(answer.headers['content-length'])).toBe(Buffer.byteLength(text))
    expect(Object.keys(JSON.parse(text))).toEqual(Object.keys((await plain.json()) as object))
  })

  test('compressed on request', async () => {
    const headers = { 'accept-encoding': 'gzip' }
    const answer = await client.request({ path: '/api/v1/openapi.yaml', method: 'GET', headers })
    expect(answer.headers['content-encoding']).toBe('gzip')
    const plain = await opened.request('/api/v1/openapi.yaml')
    expect(gunzipSync(await answer.body.bytes()).toString()).toBe(await plain.text())
  })

  test('a HEAD has the headers alone, and the connection goes on', async () => {
    for (const method of ['HEAD', 'GET', 'HEAD'] as const) {
      const answer = await client.request({ path: '/api/v1/models', method })
      expect([answer.statusCode, (await answer.body.text()).length > 0]).toEqual([200, method === 'GET'])
    }
  })
})

test('an idle connection is promised for longer than proxies keep theirs', async () => {
  const answer = await client.request({ path: '/api/v1/models', method: 'GET' })
  await answer.body.dump()
  expect(answer.headers['keep-alive']).toBe('timeout=65')
})

describe('a body', () => {
  test('that does not say how long it is, and is too long, is told so', async () => {
    const piece = ' '.repeat(64 * 1024)
    async function* endless() {
      for (let sent = 0; sent <= 2 * bodyBytes.json; sent += piece.length) yield piece
    }
    const key = await opened.key(1)
    const { statusCode, body } = await client.request({
      path: '/api/v1/chat/completions',
      method: 'POST',
      headers: headersFor(key),
      body: Readable.from(endless()),
    })
    expect(statusCode).toBe(413)
    expect(await body.json()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  })

  test('that breaks off holds nothing, and counts as no failure', async () => {
    const key = await opened.key(1)
    const answers: Promise<Response>[] = []
    listener.serve((request, bindings) => {
      const answer = Promise.resolve(opened.service.app.fetch(request, bindings))
      answers.push(answer)
      return answer
    })
    const socket = connect(listener.port, '127.0.0.1')
    const head = Object.entries({ host: 'x', ...headersFor(key), 'content-length': '1000' })
    const lines = head.map(([name, value]) => `${name}: ${value}`).join('\r\n')
    socket.write(`POST /api/v1/chat/completions HTTP/1.1\r\n${lines}\r\n\r\n{"model":`)
    while (answers.length === 0) await turn()
    socket.resetAndDestroy()
    await answers[0]
    expect(await opened.store.read.selectFrom('hold').selectAll().execute()).toEqual([])
    expect(opened.logged).toEqual([])
  })
})

test('a refusal counts as a failure even if its caller has left', async () => {
  let refuse = () => {}
  const topUp = () =>
    new Promise<never>((_, reject) => {
      refuse = () => reject(refusedPayment('expired'))
    })
  const own = await openService({ payments: { topUp } })
  let asked: { signal: AbortSignal; answer: Promise<Response> } | undefined
  listener.serve((request, bindings) => {
    const answer = Promise.resolve(own.service.app.fetch(request, bindings))
    asked = { signal: request.signal, answer }
    return answer
  })
  for (let time = 0; time <= abuseBlock.failures; time++) {
    asked = undefined
    const before = refuse
    const socket = connect(listener.port, '127.0.0.1')
    socket.write('POST /api/v1/x402/top-up HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n')
    while (refuse === before) await turn()
    const { signal, answer } = asked as unknown as NonNullable<typeof asked>
    socket.resetAndDestroy()
    await once(signal, 'abort')
    refuse()
    await answer
  }
  const { statusCode, body } = await client.request({ path: '/api/v1/x402/top-up', method: 'POST' })
  await body.dump()
  await own.close()
  expect(statusCode).toBe(429)
})

describe('what a caller can pay with', () => {
  /** A body whose second half comes after `meanwhile`, and so after its caller was let in. */
  const halves = (text: string, meanwhile: () => Promise<void>): ReadableStream<Uint8Array> => {
    const pieces = [text.slice(0, 9), text.slice(9)]
    return new ReadableStream(
      {
        async pull(controller) {
          const piece = pieces.shift()
          if (piece === undefined) return controller.close()
          if (pieces.length === 0) await meanwhile()
          controller.enqueue(new TextEncoder().encode(piece))
        },
      },
      { highWaterMark: 0 },
    )
  }

  const post = (key: string, meanwhile: () => Promise<void>) =>
    opened.request('/api/v1/chat/completions', {
      method: 'POST',
      headers: headersFor(key),
      body: halves(JSON.stringify(chat), meanwhile),
      duplex: 'half',
    } as RequestInit)

  test('is read again where the body took its time: credit that came meanwhile counts', async () => {
    const key = await opened.key(0)
    const [record] = await opened.service.keys.list()
    const credit = async () => {
      const atMs = opened.clock.now()
      const account = record?.account ?? ''
      const grant = { account, amount: microUsd(1_000_000), source: 'system:grant', ref: 'late', atMs } as const
      await opened.store.commit([{ id: `${uuidV7(atMs)}:credit`, ops: [{ op: 'credit', ...grant }] }])
      opened.clock.pass(spendableForMs + 1)
    }
    const answer = await post(key, credit)
    expect([answer.status, answer.headers.get('x-service-balance-usd')]).toEqual([200, '0.000000'])
  })

  test('is decided by the hold: a key that another process revokes meanwhile pays for nothing more', async () => {
    const key = await opened.key(1)
    const [record] = await opened.service.keys.list()
    const atMs = opened.clock.now()
    const revoke = async () =>
      void (await opened.store.commit([
        { id: `${uuidV7(atMs)}:revoke`, ops: [{ op: 'revokeKey', key: record?.id ?? '', atMs }] },
      ]))
    const before = await post(key, async () => undefined)
    const answer = await post(key, revoke)
    // Still remembered here as one that counts.
    const after = await post(key, async () => undefined)
    expect([before.status, answer.status, after.status]).toEqual([200, 401, 401])
  })
})
