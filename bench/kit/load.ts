import { setTimeout as sleep } from 'node:timers/promises'
import { Caller } from './caller.ts'
import { cpuMicrosOf } from './machine.ts'
import { quantile } from './report.ts'

/** Who is measured, and how a chat is asked of it. */
export interface Side {
  name: string
  port: number
  /** Absent where there is no server between caller and engine. */
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

/** So many connections, each of which sends its next chat once the one before is answered. */
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
 * Chats at a fixed rate, whether or not the ones before are answered. Each time counts from when its chat was due, so that a
 * server that stops for a moment is charged for all that had to wait: corrected for coordinated omission.
 */
export async function openLoop(side: Side, perSecond: number, forMs: number): Promise<LoadFigures> {
  const free = await openCallers(side.port, openLoopConnections)
  const all = [...free]
  const waiting: number[] = []
  const timesMs: number[] = []
  const inFlight = new Set<Promise<void>>()
  let failure: unknown
  const send = (dueAt: number, place: number) => {
    const caller = free.pop()
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

/** Timers of Node are late by up to a millisecond, so the last two are spent in turns of the event loop. */
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
