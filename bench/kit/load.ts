import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './figures.ts'
import { cpuMicrosOf } from './machine.ts'

/**
 * One caller's connection, with as little code as possible between it and the socket, so that the load is not what is
 * measured. It sends one request at a time.
 */
export class Caller {
  readonly #socket: Socket
  #onData: (data: Buffer) => void = () => undefined
  #onEnd: (error: Error) => void = () => undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', data => this.#onData(data))
    socket.on('error', error => this.#onEnd(error))
    socket.on('close', () => this.#onEnd(new Error('The server closed the connection before its answer was whole.')))
  }

  static async open(port: number): Promise<Caller> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new Caller(socket)
  }

  /** Resolves to the whole answer, head and body. Rejects if it is not a 200. */
  request(bytes: Buffer): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error('The server closed this connection while it was idle.'))
      let answer = ''
      this.#onEnd = reject
      this.#onData = data => {
        answer += data.toString('latin1')
        if (!isWhole(answer)) return
        if (answer.startsWith('HTTP/1.1 200')) resolve(answer)
        else reject(new Error(`A request was answered: ${answer.slice(0, 2_000)}`))
      }
      this.#socket.write(bytes)
    })
  }

  /** Calls `onData` with every piece of the answer; resolves once its last chunk was received. */
  stream(bytes: Buffer, onData: (text: string) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      let isFirst = true
      let last = ''
      this.#onEnd = reject
      this.#onData = data => {
        const text = data.toString('latin1')
        if (isFirst && !text.startsWith('HTTP/1.1 200'))
          return reject(new Error(`A stream was answered: ${text.slice(0, 2_000)}`))
        isFirst = false
        onData(text)
        last = (last + text).slice(-7)
        if (last === '\r\n0\r\n\r\n') resolve()
      }
      this.#socket.write(bytes)
    })
  }

  /** Sends a request without waiting for its answer. */
  sendOnly(bytes: Buffer): void {
    this.#onEnd = () => undefined
    this.#socket.write(bytes)
  }

  stopReading(): void {
    this.#socket.pause()
  }

  /** Reads this many bytes per second from now on. */
  readSlowly(bytesPerSecond: number): void {
    this.#socket.pause()
    const timer = setInterval(() => this.#socket.read(Math.min(bytesPerSecond, this.#socket.readableLength)), 1_000)
    this.#socket.once('close', () => clearInterval(timer))
  }

  close(): void {
    this.#onEnd = () => undefined
    this.#socket.destroy()
  }
}

function isWhole(answer: string): boolean {
  const headEnd = answer.indexOf('\r\n\r\n')
  if (headEnd < 0) return false
  const [, length] = /\r\ncontent-length: *(\d+)/i.exec(answer.slice(0, headEnd)) ?? []
  return length === undefined ? answer.endsWith('\r\n0\r\n\r\n') : answer.length >= headEnd + 4 + Number(length)
}

/** Returns the bytes of a JSON POST. */
export function post(path: string, headers: Readonly<Record<string, string>>, body: object): Buffer {
  const text = JSON.stringify(body)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n${lines.join('')}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
}

/** A server to measure, and how to send it a chat. */
export interface Side {
  name: string
  port: number
  /** Absent if there is no server between caller and engine. */
  pid?: number
  /** The bytes of a chat with this text, from one of the customers. */
  chat(text: string, place: number, isStream?: boolean): Buffer
}

export interface LoadFigures {
  requests: number
  requestsPerSecond: number
  cpuMicros: number
  p50Ms: number
  p99Ms: number
}

const text = 'Why does the tide turn twice a day? Answer in one sentence, for a child of ten years.'

/** Opens this many connections, each of which sends its next chat once the previous one is answered. */
export async function closedLoop(side: Side, connections: number, forMs: number): Promise<LoadFigures> {
  const callers = await openCallers(side.port, connections)
  try {
    const [cpuBefore, startedAt] = [cpuOf(side), performance.now()]
    const timesMs: number[] = []
    const call = async (caller: Caller, index: number) => {
      for (let place = index; performance.now() - startedAt < forMs; place += connections) {
        const askedAt = performance.now()
        await caller.request(side.chat(text, place))
        timesMs.push(performance.now() - askedAt)
      }
    }
    await Promise.all(callers.map(call))
    const seconds = (performance.now() - startedAt) / 1000
    return figuresOf(timesMs, seconds, cpuOf(side) - cpuBefore)
  } finally {
    for (const caller of callers) caller.close()
  }
}

/** More than a server that keeps up ever has in flight. */
const openLoopConnections = 64

/**
 * Sends chats at a fixed rate, whether or not earlier ones are answered. Each is timed from when it was due, so that a
 * server that pauses is charged for all that had to wait: this corrects for coordinated omission.
 */
export async function openLoop(side: Side, perSecond: number, forMs: number): Promise<LoadFigures> {
  const free = await openCallers(side.port, openLoopConnections)
  const all = [...free]
  const waiting: number[] = []
  const timesMs: number[] = []
  const inFlight = new Set<Promise<void>>()
  let failure: unknown
  const send = (dueAt: number, place: number) => {
    // The one that was idle longest, because servers close connections that stay idle for seconds.
    const caller = free.shift()
    if (!caller) return void waiting.push(dueAt)
    const answered = caller.request(side.chat(text, place)).then(
      () => {
        timesMs.push(performance.now() - dueAt)
        free.push(caller)
        inFlight.delete(answered)
        const next = waiting.shift()
        if (next !== undefined) send(next, place)
      },
      error => {
        failure ??= error
      },
    )
    inFlight.add(answered)
  }
  try {
    const [cpuBefore, startedAt] = [cpuOf(side), performance.now()]
    const count = Math.round((forMs / 1000) * perSecond)
    for (let place = 0; place < count && failure === undefined; place++) {
      const dueAt = startedAt + (place * 1000) / perSecond
      await until(dueAt)
      send(dueAt, place)
    }
    while (inFlight.size > 0 && failure === undefined) await Promise.race(inFlight)
    if (failure !== undefined) throw failure
    return figuresOf(timesMs, (performance.now() - startedAt) / 1000, cpuOf(side) - cpuBefore)
  } finally {
    for (const caller of all) caller.close()
  }
}

/** Node's timers are late by up to a millisecond, so the last two are spent in turns of the event loop. */
async function until(atMs: number): Promise<void> {
  const waitMs = atMs - performance.now() - 2
  if (waitMs >= 1) await sleep(waitMs)
  while (performance.now() < atMs) await new Promise(resolve => setImmediate(resolve))
}

const openCallers = (port: number, connections: number): Promise<Caller[]> =>
  Promise.all(Array.from({ length: connections }, () => Caller.open(port)))

export const cpuOf = ({ pid }: Side): number => (pid === undefined ? 0 : cpuMicrosOf(pid))

const figuresOf = (timesMs: readonly number[], seconds: number, cpuMicros: number): LoadFigures => ({
  requests: timesMs.length,
  requestsPerSecond: timesMs.length / seconds,
  cpuMicros: cpuMicros / timesMs.length,
  p50Ms: quantile(timesMs, 0.5),
  p99Ms: quantile(timesMs, 0.99),
})
