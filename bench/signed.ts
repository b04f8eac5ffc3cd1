/** Compares chats signed by a wallet, known to the service or new, with the same chats by key. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Pool } from 'undici'
import { keyRecovery } from '#host/signatures/evm-signature.ts'
import { type Figure, finish, inTurn, type Line, quantile, ratioOf } from './kit/figures.ts'
import { onCores, pinLoad, serverCore } from './kit/machine.ts'
import { benchOptions } from './kit/options.ts'
import {
  besideRate,
  type Credentials,
  closedLoop,
  connections,
  customers,
  type LoadFigures,
  mostPerSecond,
  openLoop,
  short,
  signInHeader,
  type Wallet,
  walletAt,
  whole,
} from './signed/signed-calls.ts'

const options = benchOptions()
const { rounds, phaseMs, warmUpMs } = options.isShort ? short : whole

const sides = ['key', 'known wallets', 'new wallets'] as const
type Side = (typeof sides)[number]

const metrics = {
  requests: 'requests/s',
  cpu: 'CPU per request, µs',
  p50: 'p50, ms',
  p99: 'p99, ms',
} as const
const load = `${connections} connections`
const besideLoad = `${besideRate} requests/s with a key, beside ${besideRate} with`

/** New wallets that the measurements use up, in the closed loop and in the open one. */
const newInPhase = Math.ceil((mostPerSecond * phaseMs) / 1000)
const newBeside = Math.ceil((besideRate * phaseMs) / 1000)
const newWallets = (rounds + 1) * (newInPhase + newBeside)

pinLoad()
const folder = await mkdtemp(join(tmpdir(), 'farebox-bench-'))
try {
  await finish('signed', options, measure)
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

async function measure(): Promise<{ figures: Figure[]; goals: Line[] }> {
  process.stderr.write(`Signers are recovered by: ${(await keyRecovery()).by}. Wallets are made: ${newWallets}.\n`)
  const args = [join(import.meta.dirname, 'kit/demo-service.ts'), folder, `${customers + newWallets}`]
  const child = spawn(...onCores(serverCore, process.execPath, args), { stdio: ['pipe', 'pipe', 'inherit'] })
  try {
    const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
    const { port, keys } = JSON.parse(value ?? '') as { port: number; keys: string[] }
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 2 * connections })
    const service = { pool, pid: child.pid ?? 0 }
    const next = credentialsOf(keys)
    for (const side of sides) await closedLoop(service, next(side, warmUpMs, mostPerSecond), warmUpMs)
    const closed = await inTurn(sides, rounds, side => closedLoop(service, next(side, phaseMs, mostPerSecond), phaseMs))
    const beside = await inTurn(sides, rounds, side => timesBeside(pool, next, side))
    await pool.close()
    const figures = [...closedFigures(closed), ...besideFigures(beside)]
    return { figures, goals: goalsOf(figures) }
  } finally {
    const ended = once(child, 'exit')
    child.stdin.end()
    await ended
  }
}

type NextCredentials = (side: Side, forMs: number, rate: number) => Credentials

/** Prepares what a phase of one side will send: as many sign-ins as it can use, since each works once. */
function credentialsOf(keys: readonly string[]): NextCredentials {
  const known = Array.from({ length: customers }, (_, place) => walletAt(place))
  let used = customers
  const walletOf = (side: Side, place: number): Wallet | undefined =>
    side === 'known wallets' ? known[place % customers] : walletAt(used++)
  return (side, forMs, rate) => {
    let place = 0
    if (side === 'key') return () => ({ authorization: `Bearer ${keys[place++ % keys.length]}` })
    const headers = Array.from({ length: Math.ceil((rate * forMs) / 1000) }, (_, at) => {
      const wallet = walletOf(side, at)
      return wallet ? signInHeader(wallet) : ''
    })
    return () => {
      const header = headers[place++]
      if (header === undefined) throw new Error('All prepared sign-ins are used up; raise mostPerSecond.')
      return { 'sign-in-with-x': header }
    }
  }
}

/** Times requests by key while requests of the other side are made at the same rate. */
async function timesBeside(pool: Pool, next: NextCredentials, side: Side): Promise<number[]> {
  const [own, others] = [next('key', phaseMs, besideRate), next(side, phaseMs, besideRate)]
  const [times] = await Promise.all([
    openLoop(pool, own, besideRate, phaseMs),
    openLoop(pool, others, besideRate, phaseMs),
  ])
  return times
}

function closedFigures(measured: readonly LoadFigures[][]): Figure[] {
  return sides.flatMap((side, index) => {
    const of = (key: keyof LoadFigures) => (measured[index] ?? []).map(each => each[key])
    return [
      { load, side, metric: metrics.requests, rounds: of('requestsPerSecond') },
      { load, side, metric: metrics.cpu, rounds: of('cpuMicros') },
      { load, side, metric: metrics.p50, rounds: of('p50Ms'), digits: 2 },
      { load, side, metric: metrics.p99, rounds: of('p99Ms'), digits: 2 },
    ]
  })
}

function besideFigures(measured: readonly number[][][]): Figure[] {
  return sides.flatMap((side, index) =>
    ([0.5, 0.99] as const).map(share => ({
      ...{ load: besideLoad, side, metric: share === 0.5 ? metrics.p50 : metrics.p99, digits: 2 },
      rounds: (measured[index] ?? []).map(times => quantile(times, share)),
    })),
  )
}

function goalsOf(figures: readonly Figure[]): Line[] {
  const wallets = sides.filter(side => side !== 'key')
  return wallets.flatMap(side => [
    {
      what: `requests/s of ${side}, × key`,
      value: ratioOf(figures, load, metrics.requests, side, 'key'),
      ...{ atLeast: 0.7, digits: 2, unit: ' ×' },
    },
    {
      what: `others' p99 beside ${side}, × beside keys`,
      value: ratioOf(figures, besideLoad, metrics.p99, side, 'key'),
      ...{ atMost: 1.2, digits: 2, unit: ' ×' },
    },
  ])
}
