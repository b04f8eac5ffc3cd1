import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Pool } from 'undici'
import { median } from '../kit/figures.ts'
import { httpPhaseMs, httpRounds } from './bounds.ts'

const callers = 64

const body = JSON.stringify({
  model: 'demo-chat',
  messages: [{ role: 'user', content: 'Hello.' }],
  max_tokens: 8,
})

export interface HttpFigures {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
}

/** Measures chats over a socket that are held for, answered and durably charged, by callers with keys. */
export async function measureHttp(folder: string, database?: string): Promise<HttpFigures> {
  mkdirSync(folder, { recursive: true })
  const env = { ...process.env, ...(database ? { DATABASE_URL: database } : {}) }
  const child = spawn(process.execPath, [join(import.meta.dirname, '../kit/demo-service.ts'), folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env,
  })
  try {
    const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
    const { port, keys } = JSON.parse(value ?? '') as { port: number; keys: string[] }
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: callers })
    await callFor(pool, keys, 1_000)
    const tries: HttpFigures[] = []
    for (let round = 0; round < httpRounds; round++) tries.push(await callFor(pool, keys, httpPhaseMs))
    await pool.close()
    return {
      requestsPerSecond: median(tries.map(one => one.requestsPerSecond)),
      p50Ms: median(tries.map(one => one.p50Ms)),
      p99Ms: median(tries.map(one => one.p99Ms)),
    }
  } finally {
    const ended = once(child, 'exit')
    child.stdin.end()
    await ended
  }
}

async function callFor(pool: Pool, keys: readonly string[], forMs: number): Promise<HttpFigures> {
  const startedAt = performance.now()
  const times: number[] = []
  const call = async (caller: number) => {
    for (let place = caller; performance.now() - startedAt < forMs; place += callers) {
      const askedAt = performance.now()
      const { statusCode, body: answer } = await pool.request({
        method: 'POST',
        path: '/api/v1/chat/completions',
        headers: { authorization: `Bearer ${keys[place % keys.length]}`, 'content-type': 'application/json' },
        body,
      })
      const text = await answer.text()
      if (statusCode !== 200) throw new Error(`A paid request was answered ${statusCode}: ${text.slice(0, 200)}`)
      times.push(performance.now() - askedAt)
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
  const seconds = (performance.now() - startedAt) / 1000
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { requestsPerSecond: times.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99) }
}
