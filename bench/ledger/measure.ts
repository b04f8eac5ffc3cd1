import { median } from '../kit/report.ts'
import { phaseMs, rounds, warmUpMs } from './bounds.ts'
import { openCustomers, unitsPerSecond } from './load.ts'
import type { Side } from './sides.ts'

export const callerCounts = [1, 16, 64] as const

export interface LedgerFigures {
  /** The engine's own bound at 64 callers: the ledger's rows without its rules; absent where it is not measured. */
  bareRows: { units: number; ratio: number } | null
  /** Medians over all rounds, each a second. */
  bare: number
  units: Record<(typeof callerCounts)[number], number>
  /** Medians of what each round showed by itself, so that a busy moment of the machine weighs on both sides. */
  ratios: Record<(typeof callerCounts)[number], number>
}

/** Bare commits and the ledger's units in turn, many times. */
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
