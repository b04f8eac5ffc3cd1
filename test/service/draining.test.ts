import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectionLimits, Listener } from '#service/http/listener.ts'

/** Longer than a test may take: whatever ends by itself does not need it. */
const graceMs = 600_000
const limits = { ...connectionLimits, headersTimeoutMs: graceMs, requestTimeoutMs: graceMs }

let listener: Listener
let begun: string[]
let sockets: Socket[]

beforeEach(async () => {
  listener = await Listener.open({ host: '127.0.0.1', port: 0, limits })
  begun = []
  sockets = []
})

afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await listener.close(0)
})

/** A connection that keeps everything it was sent. */
async function open() {
  const socket = connect(listener.port, '127.0.0.1')
  sockets.push(socket)
  let text = ''
  socket.setEncoding('utf8').on('data', piece => {
    text += piece
  })
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  socket.on('error', () => undefined)
  await new Promise(resolve => socket.once('connect', resolve))
  return {
    closed,
    reset: () => void socket.resetAndDestroy(),
    send: (...paths: string[]) => socket.write(paths.map(path => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).join('')),
    get answers() {
      return text.split('HTTP/1.1 200 OK').length - 1
    },
    get text() {
      return text
    },
  }
}

/** Answers each request when it is let. */
function gated() {
  const gate = Promise.withResolvers<void>()
  listener.serve(async request => {
    const { pathname } = new URL(request.url)
    begun.push(pathname)
    if (pathname !== '/at-once') await gate.promise
    return new Response(pathname)
  })
  return gate.resolve
}

/** Sends its first piece at once, and the last when it is let. */
function streaming() {
  const gate = Promise.withResolvers<void>()
  listener.serve(request => {
    begun.push(new URL(request.url).pathname)
    const pieces = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode('first'))
        await gate.promise
        controller.enqueue(new TextEncoder().encode('last'))
        controller.close()
      },
    })
    return new Response(pieces)
  })
  return gate.resolve
}

const until = (isSo: () => boolean) => expect.poll(isSo, { interval: 5 }).toBe(true)

describe('while a listener closes', () => {
  test('a new connection is refused at once, while an answer still runs', async () => {
    const go = gated()
    const first = await open()
    first.send('/running')
    await until(() => begun.length === 1)
    const closing = listener.close(graceMs)
    const late = await new Promise(resolve => {
      const socket = connect(listener.port, '127.0.0.1')
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      socket.once('connect', () => resolve('connected'))
    })
    expect(late).toBe('ECONNREFUSED')
    go()
    await closing
  })

  test('an answer that has not begun to leave says that its connection ends, and ends it', async () => {
    const go = gated()
    const connection = await open()
    connection.send('/running')
    await until(() => begun.length === 1)
    const closing = listener.close(graceMs)
    go()
    await Promise.all([connection.closed, closing])
    expect(connection.text).toMatch(/connection: close/i)
    expect(connection.text).toContain('/running')
  })

  test('a busy connection gets one more answer at most', async () => {
    const go = gated()
    const connection = await open()
    connection.send('/running')
    await until(() => begun.length === 1)
    const closing = listener.close(graceMs)
    connection.send('/one-more', '/too-many')
    go()
    await Promise.all([connection.closed, closing])
    expect(begun).toEqual(['/running'])
    expect(connection.answers).toBe(1)
  })

  test('a request on its way on an idle connection is answered; a connection opened ahead is ended', async () => {
    gated()
    const [used, unused] = [await open(), await open()]
    used.send('/at-once')
    await until(() => used.answers === 1)
    const closing = listener.close(graceMs)
    used.send('/at-once')
    await Promise.all([used.closed, unused.closed, closing])
    expect(used.answers).toBe(2)
    expect(used.text).toMatch(/connection: close/i)
  })

  test('a stream ends whole, and nothing is begun behind it', async () => {
    const go = streaming()
    const connection = await open()
    connection.send('/stream')
    await until(() => connection.text.includes('first'))
    const closing = listener.close(graceMs)
    connection.send('/one-more', '/too-many')
    go()
    await Promise.all([connection.closed, closing])
    expect(connection.text).toContain('last')
    // The stream had promised to keep the connection, so the next request may have been on its way.
    expect(begun.slice(1).length).toBeLessThanOrEqual(1)
    expect(connection.answers).toBe(begun.length)
  })

  test('loops on open connections keep nothing open: each ends after one more answer', async () => {
    listener.serve(async request => {
      begun.push(new URL(request.url).pathname)
      await sleep(5)
      return new Response('done')
    })
    const connections = await Promise.all(Array.from({ length: 8 }, open))
    const stopped = new AbortController()
    const loops = connections.map(async connection => {
      for (let sent = 1; !stopped.signal.aborted && sent < 400; sent++) {
        connection.send('/again')
        while (!stopped.signal.aborted && connection.answers < sent) await sleep(1)
      }
    })
    await until(() => begun.length > 50)
    const before = begun.length
    await listener.close(graceMs)
    stopped.abort()
    await Promise.all(loops)
    expect(begun.length - before).toBeLessThanOrEqual(connections.length)
  })

  test('what has not ended within its time is cut off', async () => {
    gated()
    const connection = await open()
    connection.send('/never')
    await until(() => begun.length === 1)
    await listener.close(50)
    await connection.closed
    expect(connection.answers).toBe(0)
  })
})

test('a caller who resets a connection has left all its requests, also those whose turn had not come', async () => {
  const signals: AbortSignal[] = []
  const closed: string[] = []
  listener.serve((request, { outgoing }) => {
    const { pathname } = new URL(request.url)
    signals.push(request.signal)
    outgoing.once('close', () => closed.push(pathname))
    return Promise.withResolvers<Response>().promise
  })
  const caller = await open()
  caller.send('/one', '/two', '/three')
  await until(() => signals.length === 3)
  caller.reset()
  await until(() => signals.every(({ aborted }) => aborted))
  expect(closed.toSorted()).toEqual(['/one', '/three', '/two'])
})
