import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './figures.ts'
import { Caller, cpuOf, type Side } from './load.ts'
import { residentBytesOf } from './machine.ts'
import { eventText, type MockUpstream } from './mock-upstream.ts'

export interface StreamLoad {
  streams: number
  /** Per stream. */
  eventsPerSecond: number
}

export interface StreamFigures {
  eventsPerSecond: number
  cpuMicros: number
  p50Ms: number
  p99Ms: number
  /** The server's extra memory while they run, per stream. */
  bytesOfStream: number
  /** Streams that the server ended by itself; there should be none. */
  broken: number
}

/** Streams are opened in batches with a pause in milliseconds, so that the listener's queue never overflows. */
const openedAtOnce = 100
const openPauseMs = 20

/** How long a server may take to begin all streams, in milliseconds; those that have not begun by then count too. */
const beginMs = 10_000

/** How long a server may take to pass on the end of all streams, in milliseconds; it may be far behind. */
const endMs = 60_000

const marker = `"content":"${eventText}"`

/**
 * Opens the streams, waits until each has begun, lets them settle, and measures what arrives afterwards; then the engine
 * ends all of them.
 */
export async function runStreams(
  side: Side,
  upstream: MockUpstream,
  { streams, eventsPerSecond }: StreamLoad,
  settleMs: number,
  forMs: number,
): Promise<StreamFigures> {
  upstream.startStreams(eventsPerSecond)
  const memoryBefore = side.pid === undefined ? 0 : residentBytesOf(side.pid)
  const readers = Array.from({ length: streams }, (_, number) => new Reader(number, upstream))
  const ends: Promise<void>[] = []
  const failures: string[] = []
  const fail = (error: Error) => void failures.push(error.message)
  try {
    for (let at = 0; at < streams; at += openedAtOnce) {
      const some = readers.slice(at, at + openedAtOnce)
      for (const reader of some) ends.push(reader.read(side).catch(fail))
      await sleep(openPauseMs)
    }
    const begunBy = performance.now() + beginMs
    while (readers.some(reader => !reader.hasBegun) && performance.now() < begunBy) await sleep(openPauseMs)
    await sleep(settleMs)
    for (const reader of readers) reader.isMeasured = true
    const [cpuBefore, startedAt] = [cpuOf(side), performance.now()]
    await sleep(forMs)
    for (const reader of readers) reader.isMeasured = false
    const seconds = (performance.now() - startedAt) / 1000
    const cpu = cpuOf(side) - cpuBefore
    const memory = side.pid === undefined ? 0 : residentBytesOf(side.pid) - memoryBefore
    const latenciesMs = readers.flatMap(({ latenciesMs }) => latenciesMs)
    upstream.endStreams()
    await within(Promise.all(ends), endMs, `${side.name} did not end its streams within ${endMs} ms.`)
    if (failures.length) process.stderr.write(`${side.name} broke ${failures.length} streams: ${failures[0]}\n`)
    if (latenciesMs.length === 0) throw new Error(`${side.name} forwarded no event. ${failures[0] ?? ''}`)
    return {
      broken: failures.length,
      eventsPerSecond: latenciesMs.length / seconds,
      cpuMicros: cpu / latenciesMs.length,
      p50Ms: quantile(latenciesMs, 0.5),
      p99Ms: quantile(latenciesMs, 0.99),
      bytesOfStream: memory / streams,
    }
  } finally {
    upstream.endStreams()
    for (const reader of readers) reader.close()
  }
}

async function within(work: Promise<unknown>, ms: number, late: string): Promise<void> {
  const timer = Promise.withResolvers<never>()
  const timeout = setTimeout(() => timer.reject(new Error(late)), ms)
  await Promise.race([work, timer.promise]).finally(() => clearTimeout(timeout))
}

class Reader {
  readonly latenciesMs: number[] = []
  isMeasured = false
  readonly #number: number
  readonly #upstream: MockUpstream
  #caller: Caller | undefined
  #received = 0
  #rest = ''

  constructor(number: number, upstream: MockUpstream) {
    this.#number = number
    this.#upstream = upstream
  }

  /** Whether it has received an event. */
  get hasBegun(): boolean {
    return this.#received > 0
  }

  async read(side: Side): Promise<void> {
    this.#caller = await Caller.open(side.port)
    const request = side.chat(`Count the ticks. Stream ${this.#number}.`, this.#number, true)
    await this.#caller.stream(request, text => this.#take(text))
  }

  close(): void {
    this.#caller?.close()
  }

  /** Each event is identified by its position in the stream, because none may be dropped on the way. */
  #take(text: string): void {
    const now = performance.now()
    const seen = this.#rest + text
    let from = 0
    for (let at = seen.indexOf(marker); at >= 0; at = seen.indexOf(marker, from)) {
      from = at + marker.length
      const sentAt = this.#upstream.sentAtMs.get(this.#number)?.[this.#received++]
      if (this.isMeasured && sentAt !== undefined) this.latenciesMs.push(now - sentAt)
    }
    this.#rest = seen.slice(Math.max(from, seen.length - marker.length + 1))
  }
}

/** Readers that request an endless stream and then read nothing of it. */
export interface StalledFigures {
  /** The server's extra memory, per reader. */
  memoryBytes: number
  /** What the engine could write before it was blocked, including the system's buffers of two connections. */
  acceptedBytes: number
}

export async function stallReaders(
  side: Side,
  upstream: MockUpstream,
  readers: number,
  forMs: number,
): Promise<StalledFigures> {
  upstream.floodBytes = 0
  const memoryBefore = side.pid === undefined ? 0 : residentBytesOf(side.pid)
  const callers = await Promise.all(Array.from({ length: readers }, () => Caller.open(side.port)))
  try {
    for (const [place, caller] of callers.entries()) {
      caller.stopReading()
      caller.sendOnly(side.chat('Flood.', place, true))
    }
    await sleep(forMs)
    const memory = side.pid === undefined ? 0 : residentBytesOf(side.pid) - memoryBefore
    return { memoryBytes: memory / readers, acceptedBytes: upstream.floodBytes / readers }
  } finally {
    for (const caller of callers) caller.close()
  }
}
