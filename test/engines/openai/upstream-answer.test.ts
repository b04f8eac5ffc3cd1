/** A server's answer in pieces: at the pace of its reader, and only as long as a reader wants it. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { UpstreamAnswer } from '#engines/http/upstream-answer.ts'

let answer: RequestListener = (_request, response) => void response.end()
let requests = 0
let sockets: Socket[] = []
let agent: Agent
const server = createServer((request, response) => {
  requests++
  request.resume()
  answer(request, response)
}).on('connection', socket => void sockets.push(socket))

beforeEach(async () => {
  requests = 0
  sockets = []
  agent = new Agent()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  await agent.destroy()
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
})

interface Asked {
  signal?: AbortSignal
  timeoutMs?: number
  silence?: { firstMs: number; laterMs: number }
  port?: number
}

const asked = ({ signal = new AbortController().signal, timeoutMs, silence, port }: Asked = {}) =>
  UpstreamAnswer.to(
    agent,
    {
      origin: `http://127.0.0.1:${port ?? (server.address() as AddressInfo).port}`,
      path: '/',
      method: 'POST',
      body: '{}',
    },
    { signal, timeoutMs, silence },
  )

const isClosed = async (index = 0) => expect.poll(() => sockets[index]?.destroyed).toBe(true)

test('it tells its status and headers, and gives all of it', async () => {
  answer = (_request, response) => void response.writeHead(418, { 'x-of': 'tea' }).end('a pot')
  const first = await asked()
  expect([first.status, first.headers['x-of'], String(await first.whole(5))]).toEqual([418, 'tea', 'a pot'])
  await setImmediate()
  expect(String(await (await asked()).whole(5))).toBe('a pot')
  expect(sockets).toHaveLength(1)
})

test('early hints are no answer', async () => {
  answer = (_request, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload; as=style' })
    response.end('whole')
  }
  const whole = await asked()
  expect([whole.status, String(await whole.whole(100))]).toEqual([200, 'whole'])
})

test('one that is larger than its reader takes ends with its connection', async () => {
  answer = (_request, response) => void response.write('123456')
  await expect((await asked()).whole(5)).rejects.toThrow('too large')
  await isClosed()
})

test('a server is read no faster than its reader reads', async () => {
  let written = 0
  answer = (_request, response) => {
    const piece = Buffer.alloc(64 * 1024, 'a')
    const fill = () => {
      while (written < 512 * piece.length) {
        written += piece.length
        if (!response.write(piece)) return void response.once('drain', fill)
      }
      response.end()
    }
    fill()
  }
  const slow = await asked()
  let before = -1
  const stands = () => {
    const stood = written === before
    before = written
    return stood
  }
  await expect.poll(stands).toBe(true)
  // What the buffers of both sockets hold; the server has 32 MB to say.
  expect(written).toBeLessThan(16 * 1024 * 1024)
  expect((await slow.whole(64 * 1024 * 1024)).length).toBe(512 * 64 * 1024)
})

test('a server that keeps sending is not silent, however long it sends', async () => {
  answer = async (_request, response) => {
    for (let piece = 0; piece < 10; piece++) {
      response.write('a')
      await sleep(100)
    }
    response.end()
  }
  const long = await asked({ silence: { firstMs: 5_000, laterMs: 500 } })
  expect(String(await long.whole(10))).toBe('a'.repeat(10))
})

test('a server is not silent while its reader does not read', async () => {
  const bytes = 4 * 1024 * 1024
  answer = (_request, response) => void response.end(Buffer.alloc(bytes, 'a'))
  const slow = await asked({ silence: { firstMs: 5_000, laterMs: 100 } })
  await sleep(300)
  expect((await slow.whole(bytes)).length).toBe(bytes)
})

test('pieces that are taken at once do not end the wait, and the first that is not taken does', async () => {
  answer = async (_request, response) => {
    response.flushHeaders()
    for (const piece of ['one', 'two', 'three']) {
      await sleep(100)
      response.write(piece)
    }
    response.end()
  }
  const taken: string[] = []
  const takeDirectly = (piece: Buffer) => piece.toString() !== 'two' && taken.push(piece.toString()) > 0
  const slow = await asked()
  expect([String(await slow.next(takeDirectly)), taken]).toEqual(['two', ['one']])
  expect([await slow.next(takeDirectly), taken]).toEqual([null, ['one', 'three']])
})

test('a failure while a piece is taken belongs to the reader, who can still end the exchange', async () => {
  answer = (_request, response) => {
    response.flushHeaders()
    setTimeout(() => response.write('piece'), 50)
  }
  const failing = await asked()
  const takeDirectly = () => {
    throw new Error('unreadable')
  }
  await expect(failing.next(takeDirectly)).rejects.toThrow('unreadable')
  failing.destroy()
  await isClosed()
})

test('with a signal that was aborted before, no request is sent', async () => {
  await expect(asked({ signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow('gone')
  expect(requests).toBe(0)
})

test('an abort while it connects rejects at once', async () => {
  const stop = new AbortController()
  const connecting = asked({ signal: stop.signal })
  stop.abort(new Error('gone'))
  await expect(connecting).rejects.toThrow('gone')
})

test('an abort ends a wait for the first byte, and the connection', async () => {
  answer = () => undefined
  const stop = new AbortController()
  const waiting = asked({ signal: stop.signal })
  await expect.poll(() => requests).toBe(1)
  stop.abort(new Error('gone'))
  await expect(waiting).rejects.toThrow('gone')
  await isClosed()
})

test('an abort ends a wait for the next piece, and drops what was not read', async () => {
  answer = (_request, response) => void response.write('one')
  const stop = new AbortController()
  const running = await asked({ signal: stop.signal })
  await sleep(20)
  stop.abort(new Error('gone'))
  await expect(running.next()).rejects.toThrow('gone')
  await isClosed()
})

test('a deadline is for all of the answer', async () => {
  answer = (_request, response) => void response.write('one')
  const late = await asked({ timeoutMs: 50 })
  await expect(late.whole(100)).rejects.toMatchObject({ name: 'TimeoutError' })
  await isClosed()
})

test('pieces that came before the server broke off are given before its failure', async () => {
  answer = (_request, response) => void response.write('one', () => response.destroy())
  const broken = await asked()
  await sleep(20)
  expect(String(await broken.next())).toBe('one')
  await expect(broken.next()).rejects.toThrow()
})

test('a refused connection is an error of undici', async () => {
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  await expect(asked({ port })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})

test('an answer that ends soon after its last event leaves its connection to the next call', async () => {
  answer = (_request, response) => {
    response.write('[DONE]')
    setTimeout(() => response.end('\n'), 20)
  }
  const first = await asked()
  await first.next()
  first.linger(100, 5_000)
  await sleep(60)
  await (await asked()).whole(100)
  expect(sockets).toHaveLength(1)
})

test.for([
  ['says too much', (write: (text: string) => void) => write('a'.repeat(101)), 60_000],
  ['does not end', () => undefined, 30],
] as const)('an answer that %s after its last event loses its connection', async ([, more, ms]) => {
  answer = (_request, response) => {
    response.write('[DONE]')
    setTimeout(() => more(text => response.write(text)), 20)
  }
  const first = await asked()
  await first.next()
  first.linger(100, ms)
  await isClosed()
})
