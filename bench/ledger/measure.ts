import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { microUsd } from '#contract/money.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { customers, type Side } from './sides.ts'

/** How often and how long each kind of write is measured. */
export interface Phases {
  rounds: number
  phaseMs: number
  /** Before the first round: plans, caches and compiled code. */
  warmUpMs: number
}

export const callerCounts = [1, 16, 64] as const

/** Writes per second, by round. */
export interface LedgerFigures {
  bareCommits: number[]
  units: Record<(typeof callerCounts)[number], number[]>
  /** The ledger's rows without its rules, in units; null if this is not measured. */
  bareRows: number[] | null
}

/** Measures bare commits and the ledger's units in turn. */
export async function measureLedger(side: Side, { rounds, phaseMs, warmUpMs }: Phases): Promise<LedgerFigures> {
  await openCustomers(side.store)
  await unitsPerSecond(side.store, 64, warmUpMs)
  const figures: LedgerFigures = {
    bareCommits: [],
    units: { 1: [], 16: [], 64: [] },
    bareRows: side.bareRowsPerSecond ? [] : null,
  }
  for (let round = 0; round < rounds; round++) {
    figures.bareCommits.push(await side.bareCommitsPerSecond(phaseMs))
    if (side.bareRowsPerSecond) figures.bareRows?.push(side.bareRowsPerSecond(phaseMs))
    for (const callers of callerCounts) figures.units[callers].push(await unitsPerSecond(side.store, callers, phaseMs))
  }
  return figures
}

const leaseMs = 60_000

const accountOf = (place: number): string => `customer ${place % customers}`

/** Creates customers with more credit than a benchmark can spend. */
async function openCustomers(store: Store): Promise<void> {
  const units = Array.from({ length: customers }, (_, place): Unit => {
    const [account, atMs] = [accountOf(place), Date.now()]
    const amount = microUsd(10n ** 12n)
    return {
      id: uuidV7(atMs),
      ops: [
        { op: 'account', account, kind: 'customer', atMs },
        { op: 'credit', account, amount, source: 'system:grant', ref: `start of ${account}`, atMs },
      ],
    }
  })
  await store.commit(units)
}

/**
 * Runs this many callers, each of which repeatedly holds and then captures two lines. Returns acknowledged units per
 * second.
 */
async function unitsPerSecond(store: Store, callers: number, forMs: number): Promise<number> {
  const startedAt = performance.now()
  let units = 0
  const call = async (caller: number) => {
    for (let place = caller; performance.now() - startedAt < forMs; place += callers) {
      const id = uuidV7(Date.now())
      await mustCommit(store, `${id}/hold`, holdOf(id, accountOf(place)))
      await mustCommit(store, `${id}/capture`, captureOf(id))
      units += 2
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
  return units / ((performance.now() - startedAt) / 1000)
}

async function mustCommit(store: Store, id: string, op: Op): Promise<void> {
  const [outcome] = await store.commit([{ id, ops: [op] }])
  if (!outcome?.ok) throw new Error(`A unit of the bench was refused: ${outcome?.why}.`)
}

function holdOf(hold: string, account: string): Op {
  const atMs = Date.now()
  return { op: 'hold', hold, account, amount: microUsd(50n), lease: { owner: 'bench', untilMs: atMs + leaseMs }, atMs }
}

function captureOf(hold: string): Op {
  const line = (sku: string, units: bigint) => ({ sku, units, unitPricePicoUsd: 1_000_000n, amount: microUsd(units) })
  const lines = [line('input', 20n), line('output', 17n)]
  return { op: 'capture', hold, request: hold, model: 'demo-chat', lines, atMs: Date.now() }
}

const run = promisify(execFile)

/** Added to every sync of the slow disk, in milliseconds. */
export const slowSyncMs = 2

/** A child that has not answered by then is broken, in milliseconds. */
const childMs = 120_000

/** Measures SQLite with slower syncs; null if this machine cannot simulate them. */
export async function measureOnSlowDisk(folder: string, phases: Phases): Promise<LedgerFigures | null> {
  const library = join(folder, 'slow-sync.so')
  const source = join(import.meta.dirname, 'slow-sync.c')
  const built = spawnSync('cc', ['-O1', '-shared', '-fPIC', '-o', library, source, '-ldl'], { stdio: 'ignore' })
  if (built.status !== 0) return null
  const args = [join(import.meta.dirname, 'sqlite-child.ts'), join(folder, 'slow'), JSON.stringify(phases)]
  const { stdout } = await run(process.execPath, args, {
    env: { ...process.env, LD_PRELOAD: library, SLOW_SYNC_MS: `${slowSyncMs}` },
    timeout: childMs,
  })
  return JSON.parse(stdout) as LedgerFigures
}
