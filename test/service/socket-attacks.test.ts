/** What is sent by hand over a socket, where no client makes it well-formed first. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { writePulled } from '#host/pulled-body.ts'
import { connectionLimits, Listener } from '#service/http/listener.ts'
import { type OpenedService, openService } from './open-service.ts'

let opened: OpenedService
let listener: Listener
let key: string
/** The request that arrived last. */
let incoming: IncomingMessage | undefined
/** Paths that reached the application. */
const reached: string[] = []

beforeAll(async () => {
  opened = await openService()
  listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  listener.serve((request, bindings) => {
    incoming = (bindings as HttpBindings).incoming as IncomingMessage
    reached.push(new URL(request.url).pathname)
    return opened.service.app.fetch(request, bindings)
  })
})
afterAll(async () => {
  expect(opened.logged.filter(line => line.level === 'error')).toEqual([])
  await listener.close(0)
  await opened.close()
})
beforeEach(async () => {
  reached.length = 0
  opened.clock.pass(60_000)
  key = await opened.key(1)
})

/** Everything that comes back until the connection is closed, which the service does after what is malformed. */
async function sent(bytes: string | Buffer, to = listener): Promise<string> {
  const socket = connect(to.port, '127.0.0.1')
  const pieces: Buffer[] = []
  socket.on('data', piece => pieces.push(piece))
  // A service that closes while more is on its way resets the connection; what it said before counts.
  socket.on('error', () => undefined)
  const closed = new Promise(resolve => socket.once('close', resolve))
  socket.write(bytes)
  await closed
  return Buffer.concat(pieces).toString('latin1')
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Bytes of the objects and buffers that are in use. */
function heldBytes(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const statuses = (answer: string) => [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))
const chat = JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 })
const hidden = 'GET /api/v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
const chunked = `${chat.length.toString(16)}\r\n${chat}\r\n0\r\n\r\n`

const post = (headers: readonly string[], body: string | Buffer = chat, path = '/api/v1/chat/completions') =>
  Buffer.concat([
    Buffer.from([`POST ${path} HTTP/1.1`, 'host: x', ...headers, '', ''].join('\r\n'), 'latin1'),
    Buffer.from(body),
  ])
const usual = () => [`authorization: Bearer ${key}`, 'content-type: application/json', 'connection: close']

describe('a header that comes twice is a 400, whichever of the two would have been taken', () => {
  const twice: [header: string, first: string, second: string, path?: string][] = [
    ['host', 'x', 'y'],
    ['host', 'x', 'x'],
    ['host', 'x', 'y', '/healthz'],
    ['content-type', 'application/json', 'text/plain'],
    ['authorization', 'Bearer one', 'Bearer two'],
    ['sign-in-with-x', 'one', 'two'],
    ['content-length', `${chat.length}`, `${chat.length}`],
    ['idempotency-key', 'one', 'two'],
  ]
  test.each(twice)('%s: %s, %s', async (name, first, second, path) => {
    const others = [`authorization: Bearer ${key}`, 'content-type: application/json', `content-length: ${chat.length}`]
    const headers = ['host: x', ...others, 'connection: close'].filter(line => !line.startsWith(name))
    const lines = [`${path === '/healthz' ? 'GET' : 'POST'} ${path ?? '/api/v1/chat/completions'} HTTP/1.1`]
    const bytes = [...lines, `${name}: ${first}`, ...headers, `${name}: ${second}`, '', chat].join('\r\n')
    expect(statuses(await sent(bytes))[0]).toBe(400)
  })
})

describe('two lengths, or none that all read alike', () => {
  const smuggled: [how: string, headers: string[], body: string][] = [
    ['a length and chunks', ['content-length: 5', 'transfer-encoding: chunked'], chunked + hidden],
    ['chunks and a length', ['transfer-encoding: chunked', 'content-length: 5'], chunked + hidden],
    ['two lengths', ['content-length: 5', `content-length: ${chat.length}`], chat + hidden],
    ['two lengths in one line', [`content-length: ${chat.length}, 5`], chat + hidden],
    ['a length with a sign', [`content-length: +${chat.length}`], chat + hidden],
    ['a length in hexadecimal', ['content-length: 0x5'], chat + hidden],
    ['a negative length', ['content-length: -1'], chat + hidden],
    ['a space before the colon', [`content-length : ${chat.length}`], chat + hidden],
    ['another coding after chunks', ['transfer-encoding: chunked, identity'], chunked + hidden],
    ['an invalid encoding', ['transfer-encoding: xchunked'], chunked + hidden],
    ['chunks of an invalid size', ['transfer-encoding: chunked'], `0x5\r\n${chat}\r\n0\r\n\r\n${hidden}`],
    ['chunks whose size overflows', ['transfer-encoding: chunked'], `fffffffffffffffff\r\n${chat}`],
    ['a header that ends in a bare line feed', ['x: a\nx-b: c'], `${chat}${hidden}`],
    ['a header with a bare carriage return', ['x: a\rcontent-length: 3'], `${chat}${hidden}`],
    ['a header that goes on in the next line', ['x: a\r\n b: c'], `${chat}${hidden}`],
    ['a null byte in a header', ['x: a\0b'], `${chat}${hidden}`],
  ]
  test.each(smuggled)('G3: %s: one refusal, and what lies behind is not answered', async (_how, headers, body) => {
    const answer = await sent(post([...usual(), ...headers], body))
    expect(statuses(answer)).toEqual([400])
    expect(reached).not.toContain('/api/v1/models')
    expect(await opened.store.read.selectFrom('hold').selectAll().execute()).toEqual([])
  })

  test('G3: what belongs to the connection is not taken for the request’s', async () => {
    const headers = [...usual(), 'connection: authorization', 'upgrade: h2c', 'http2-settings: AAAA']
    const answer = await sent(post([...headers, `content-length: ${chat.length}`]))
    expect(statuses(answer)).toEqual([200])
    expect(answer.toLowerCase()).not.toContain('upgrade: h2c')
  })
})

describe('bodies that are more than they seem', () => {
  const bomb = Buffer.alloc(20 * 1024 * 1024, 0x20)
  const packedBodies: [coding: string, bytes: Buffer][] = [
    ['gzip', gzipSync(bomb)],
    ['br', brotliCompressSync(bomb)],
    ['deflate', deflateSync(bomb)],
    ['gzip, gzip', gzipSync(gzipSync(bomb))],
    ['zstd', Buffer.from('28b52ffd', 'hex')],
    ['GZIP', gzipSync(bomb)],
    ['identity, br', brotliCompressSync(bomb)],
  ]
  test.each(packedBodies)('G4: a bomb of %s is not unpacked', async (coding, bytes) => {
    const headers = [...usual(), `content-encoding: ${coding}`, `content-length: ${bytes.length}`]
    expect(statuses(await sent(post(headers, bytes)))).toEqual([415])
  })

  test.each([
    ['/api/v1/chat/completions', 413],
    ['/api/v1/embeddings', 413],
    ['/api/v1/video/queue', 413],
    ['/api/v1/x402/top-up', 400],
    ['/api/v1/augment/search', 413],
  ])('G4: a body of %s that announces more than it may have is not waited for', async (path, status) => {
    const answer = await sent(post([...usual(), `content-length: ${64 * 1024 * 1024 * 1024}`], '', path))
    expect(statuses(answer)).toEqual([status])
  })

  test('G4: a body in pieces of one byte takes no more memory than its bytes', async () => {
    const pieces = 150_000
    const before = heldBytes()
    const socket = connect(listener.port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(post([...usual(), 'transfer-encoding: chunked'], Buffer.from('1\r\n \r\n'.repeat(pieces))))
    await vi.waitFor(() => expect(incoming?.socket.bytesRead).toBeGreaterThan(6 * pieces), { timeout: 20_000 })
    expect(heldBytes() - before).toBeLessThan(20 * pieces)
    const answer = new Promise(resolve => socket.once('data', bytes => resolve(statuses(bytes.toString()))))
    socket.write(chunked)
    expect(await answer).toEqual([200])
    socket.destroy()
  })

  test('G4: headers without end', async () => {
    const answer = await sent(post([...usual(), `x: ${'y'.repeat(connectionLimits.headerBytes)}`]))
    expect(statuses(answer)).toEqual([431])
  })
})

describe('senders who take their time', () => {
  const hurried = { ...connectionLimits, headersTimeoutMs: 50, requestTimeoutMs: 100, checkMs: 10 }
  let small: Listener
  beforeAll(async () => {
    small = await Listener.open({ host: '127.0.0.1', port: 0, limits: hurried })
    small.serve((request, bindings) => opened.service.app.fetch(request, bindings))
  })
  afterAll(() => small.close(0))

  test('G7: half a header is cut off in its time', async () => {
    expect(statuses(await sent('GET /api/v1/models HTTP/1.1\r\nhost: x\r\nx-', small))).toEqual([408])
  })

  test('G7: so is half a body', async () => {
    const answer = await sent(post([...usual(), 'content-length: 1000'], '{"model":'), small)
    expect(answer === '' || statuses(answer)[0] === 408).toBe(true)
    expect(await opened.store.read.selectFrom('hold').selectAll().execute()).toEqual([])
  })

  test('G7: more connections than there may be are closed unread', async () => {
    const two = await Listener.open({ host: '127.0.0.1', port: 0, limits: { ...connectionLimits, connections: 2 } })
    two.serve((request, bindings) => opened.service.app.fetch(request, bindings))
    const idle = [await opensTo(two), await opensTo(two)]
    expect(await sent(hidden, two)).toBe('')
    for (const socket of idle) socket.destroy()
    await two.close(0)
  })

  test('G7: a service waits fifteen seconds for headers and a minute for a body, and looks every five', () => {
    expect(connectionLimits).toMatchObject({ headersTimeoutMs: 15_000, requestTimeoutMs: 60_000, checkMs: 5_000 })
  })
})

test('of an answer that its reader does not take, little waits in the process', async () => {
  const piece = Buffer.alloc(1_024, 'x')
  const stalled = Promise.withResolvers<Socket>()
  const endless = await Listener.open({ host: '127.0.0.1', port: 0 })
  endless.serve((_, bindings) => {
    const { outgoing } = bindings as HttpBindings
    const response = outgoing as ServerResponse
    void writePulled(response, { next: async () => piece, end: async () => undefined })
    const { socket } = response
    const look = setInterval(() => socket?.writableNeedDrain && stalled.resolve(socket), 20)
    response.once('close', () => clearInterval(look))
    return RESPONSE_ALREADY_SENT
  })
  const reader = connect(endless.port, '127.0.0.1')
  reader.on('error', () => undefined).pause()
  reader.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  const socket = await stalled.promise
  // A piece more, and what marks its length.
  expect(socket.writableLength).toBeLessThanOrEqual(connectionLimits.aheadBytes + 2 * piece.length)
  reader.destroy()
  await endless.close(0)
})

test('of a thousand requests that wait for no answer, few are begun, and their connection is cut', async () => {
  const crowded = await Listener.open({ host: '127.0.0.1', port: 0 })
  const begun: AbortSignal[] = []
  crowded.serve(({ signal }) => {
    begun.push(signal)
    return new Promise(() => undefined)
  })
  const socket = connect(crowded.port, '127.0.0.1')
  socket.on('error', () => undefined).resume()
  const closed = new Promise(resolve => socket.once('close', resolve))
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1_000))
  await closed
  // The first one waits for no other.
  expect(begun).toHaveLength(1 + connectionLimits.queued)
  await vi.waitFor(() => expect(begun.every(({ aborted }) => aborted)).toBe(true))
  await crowded.close(0)
})

describe('a complete answer', () => {
  const whole = Buffer.alloc(20_000_000, 'x')

  /** Asks for these paths without reading, of a listener that answers `/late` when it is let. */
  async function asked(paths: readonly string[], readerMs?: number) {
    const limits = { ...connectionLimits, ...(readerMs === undefined ? {} : { readerMs }) }
    const own = await Listener.open({ host: '127.0.0.1', port: 0, limits })
    const [answer, { promise: late, resolve: go }] = [Promise.withResolvers<Socket>(), Promise.withResolvers<void>()]
    own.serve(async (request, { incoming: { socket }, write }) => {
      answer.resolve(socket)
      const isLate = new URL(request.url).pathname === '/late'
      if (isLate) await late
      const body = isLate ? Buffer.from('late') : whole
      return write(200, new Map([['content-length', `${body.length}`]]), body)
    })
    const reader = connect(own.port, '127.0.0.1')
    reader.on('error', () => undefined).pause()
    reader.write(paths.map(path => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).join(''))
    const socket = await answer.promise
    return { reader, socket, go, close: () => own.close(0) }
  }

  test('is cut off if its reader takes nothing of it for too long', async () => {
    const { socket, close } = await asked(['/whole'], 50)
    await vi.waitFor(() => expect(socket.destroyed).toBe(true), { timeout: 10_000 })
    await close()
  })

  test('limits its reader alone: the next answer may take its time, and an idle connection stays as long as ever', async () => {
    const { reader, socket, go, close } = await asked(['/whole', '/late'])
    const isLimitedTo = (ms: number) => vi.waitFor(() => expect(socket.timeout ?? 0).toBe(ms), { timeout: 10_000 })
    await isLimitedTo(connectionLimits.readerMs)
    reader.resume()
    await isLimitedTo(0)
    go()
    await vi.waitFor(() => expect(socket.timeout).toBeGreaterThanOrEqual(connectionLimits.idleMs))
    expect(socket.timeout).toBeLessThan(connectionLimits.readerMs)
    await close()
  })
})

/** A connection that the service has taken: it has answered on it, and keeps it open. */
async function opensTo({ port }: Listener) {
  const socket = connect(port, '127.0.0.1')
  const answered = new Promise(resolve => socket.once('data', resolve))
  socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
  await answered
  return socket
}
