import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { microUsd } from '#contract/money.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { median } from '../kit/figures.ts'
import { childMs, customers, phaseMs, rounds, slowSyncMs, warmUpMs } from './bounds.ts'
import type { Side } from './sides.ts'

export const callerCounts = [1, 16, 64] as const

export interface LedgerFigures {
  /** The engine's own limit at 64 callers: the ledger's rows without its rules; absent if it is not measured. */
  bareRows: { units: number; ratio: number } | null
  /** Medians over all rounds, each of a second. */
  bare: number
  units: Record<(typeof callerCounts)[number], number>
  /** Medians of the rounds' own ratios, because a busy moment of the machine affects both sides. */
  ratios: Record<(typeof callerCounts)[number], number>
}

/** Measures bare commits and the ledger's units in turn, many times. */
export async function measureLedger(side: Side): Promise<LedgerFigures> {
  await openCustomers(side.store)
  await unitsPerSecond(side.store, 64, warmUpMs)
  const bare: number[] = []
  const rows: number[] = []
  const units: Record<number, number[]> = { 1: [], 16: [], 64: [] }
  for (let round = 0; round < rounds; round++) {
    bare.push(await side.bareCommitsPerSecond(phaseMs))
    if (side.bareRowsPerSecond) rows.push(side.bareRowsPerSecond(phaseMs))
    for (const callers of callerCounts) units[callers]?.push(await unitsPerSecond(side.store, callers, phaseMs))
  }
  const of = (callers: number) => units[callers] ?? []
  const ratio = (values: readonly number[]) => median(values.map((value, round) => value / (bare[round] ?? Number.NaN)))
  return {
    bareRows: rows.length ? { units: median(rows), ratio: ratio(rows) } : null,
    bare: median(bare),
    units: { 1: median(of(1)), 16: median(of(16)), 64: median(of(64)) },
    ratios: { 1: ratio(of(1)), 16: ratio(of(16)), 64: ratio(of(64)) },
  }
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

/** Measures SQLite with slower syncs; null if this machine cannot simulate them. */
export async function measureOnSlowDisk(folder: string): Promise<LedgerFigures | null> {
  if (process.platform !== 'linux') return null
  const library = join(folder, 'slow-sync.so')
  const source = join(import.meta.dirname, 'slow-sync.c')
  const built = spawnSync('cc', ['-O1', '-shared', '-fPIC', '-o', library, source, '-ldl'], { stdio: 'ignore' })
  if (built.status !== 0) return null
  const { stdout } = await run(process.execPath, [join(import.meta.dirname, 'sqlite-child.ts'), join(folder, 'slow')], {
    env: { ...process.env, LD_PRELOAD: library, SLOW_SYNC_MS: `${slowSyncMs}` },
    timeout: childMs,
  })
  return JSON.parse(stdout) as LedgerFigures
}
