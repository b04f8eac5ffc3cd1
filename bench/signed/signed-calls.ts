import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'undici'
import { evmNetwork } from '#contract/wire/networks.ts'
import { writeSignInHeader } from '#contract/wire/sign-in.ts'
import { writeSignInMessage } from '#contract/wire/sign-in-message.ts'
import { loadKeccak256 } from '#host/signatures/evm-signature.ts'
import { quantile } from '../kit/figures.ts'
import { cpuMicrosOf } from '../kit/machine.ts'

/**
 * Rounds of all sides in turn; odd, so that the median is one of them. Each side is measured for `phaseMs` per round.
 */
export const whole = { rounds: 5, phaseMs: 2_000, warmUpMs: 2_000 } as const

/** For a run that only shows that the benchmark works. */
export const short = { rounds: 1, phaseMs: 300, warmUpMs: 100 } as const

/** Concurrent callers. */
export const connections = 32

/** Keys and known wallets over which calls are spread; each may make 500 requests a minute. */
export const customers = 400

/**
 * The most requests per second that one side can make on this machine: this many new wallets are prepared for each
 * second.
 */
export const mostPerSecond = 4_000

/** Requests per second of each kind while the others are timed: well below what one core can do. */
export const besideRate = 300

/** The address for sign-ins; where it listens is a separate matter. */
export const publicUrl = 'https://bench.example'

interface Curve {
  publicKeyCreate(key: Uint8Array, compressed: boolean): Uint8Array
  ecdsaSign(digest: Uint8Array, key: Uint8Array): { signature: Uint8Array; recid: number }
}

const keccak256 = await loadKeccak256()

/** Signing in JavaScript would take longer than everything that is measured. */
const bindings: string = 'secp256k1/bindings.js'
const { default: curve } = (await import(bindings)) as { default: Curve }

export interface Wallet {
  key: Uint8Array
  /** In lower case. */
  address: string
}

/** Returns the same wallet for the same number, in every process of a run. */
export function walletAt(place: number): Wallet {
  const key = createHash('sha256').update(`wallet ${place} of a bench`).digest()
  const point = curve.publicKeyCreate(key, false)
  return { key, address: `0x${Buffer.from(keccak256(point.subarray(1)).subarray(12)).toString('hex')}` }
}

/** Returns the header of an unused sign-in. */
export function signInHeader({ key, address }: Wallet): string {
  const issuedAtMs = Date.now()
  const fields = {
    ...({ domain: new URL(publicUrl).host, address, uri: publicUrl, version: '1', chainId: evmNetwork } as const),
    statement: 'Sign in to Service API',
    nonce: randomBytes(8).toString('hex'),
    issuedAt: new Date(issuedAtMs).toISOString(),
    expirationTime: new Date(issuedAtMs + 300_000).toISOString(),
  }
  const text = Buffer.from(writeSignInMessage(fields))
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${text.length}`)
  const { signature, recid } = curve.ecdsaSign(keccak256(Buffer.concat([prefix, text])), key)
  const hex = `0x${Buffer.from(signature).toString('hex')}${recid ? '1c' : '1b'}`
  return writeSignInHeader({ fields, signature: hex }, 'message')
}

/** Returns the next request's credentials, which were prepared before the measurement. */
export type Credentials = () => Record<string, string>

export interface LoadFigures {
  requestsPerSecond: number
  /** The service's CPU time per request. */
  cpuMicros: number
  p50Ms: number
  p99Ms: number
}

const body = JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 8 })

/** Returns how many milliseconds one paid chat took. Throws if it was refused. */
async function call(pool: Pool, credentials: Credentials): Promise<number> {
  const askedAt = performance.now()
  const headers = { ...credentials(), 'content-type': 'application/json' }
  const answer = await pool.request({ method: 'POST', path: '/api/v1/chat/completions', headers, body })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`A chat was answered ${answer.statusCode}: ${text.slice(0, 200)}`)
  return performance.now() - askedAt
}

/** Sends as many chats as a number of callers can, each after its last one. */
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

/** Sends chats at a fixed rate, regardless of earlier ones; returns how long each took from when it was due. */
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
