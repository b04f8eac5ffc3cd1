import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'undici'
import { cpuMicrosOf } from '../kit/machine.ts'
import { quantile } from '../kit/report.ts'
import { connections } from './bounds.ts'

/** The credentials of the next request, which were made before the measurement. */
export type Credentials = () => Record<string, string>

export interface LoadFigures {
  requestsPerSecond: number
  /** Of the service, a request. */
  cpuMicros: number
  p50Ms: number
  p99Ms: number
}

const body = JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 8 })

/** Milliseconds that one paid chat took. Throws where it was refused. */
async function call(pool: Pool, credentials: Credentials): Promise<number> {
  const askedAt = performance.now()
  const headers = { ...credentials(), 'content-type': 'application/json' }
  const answer = await pool.request({ method: 'POST', path: '/api/v1/chat/completions', headers, body })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`A chat was answered ${answer.statusCode}: ${text.slice(0, 200)}`)
  return performance.now() - askedAt
}

/** As many chats as a number of callers can make, each after its last one. */
export async function closedLoop(
  service: { pool: Pool; pid: number },
  credentials: Credentials,
  forMs: number,
): Promise<LoadFigures> {
  const times: number[] = []
  const cpuBefore = cpuMicrosOf(service.pid)
  const startedAt = performance.now()
  const caller = async () => {
    while (performance.now() - startedAt < forMs) times.push(await call(service.pool, credentials))
  }
  await Promise.all(Array.from({ length: connections }, caller))
  const seconds = (performance.now() - startedAt) / 1000
  return {
    requestsPerSecond: times.length / seconds,
    cpuMicros: (cpuMicrosOf(service.pid) - cpuBefore) / times.length,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
  }
}

/** Chats at a fixed rate, whatever becomes of the earlier ones: how long each took from when it was due. */
export async function openLoop(pool: Pool, credentials: Credentials, rate: number, forMs: number): Promise<number[]> {
  const startedAt = performance.now()
  const sent: Promise<number>[] = []
  for (let place = 0; place < (rate * forMs) / 1000; place++) {
    const dueAt = startedAt + (place * 1000) / rate
    const waitMs = dueAt - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    const lateMs = Math.max(0, performance.now() - dueAt)
    sent.push(call(pool, credentials).then(tookMs => tookMs + lateMs))
  }
  return Promise.all(sent)
}
