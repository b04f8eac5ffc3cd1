import { median } from '../mcp/median.ts'
import { phaseMs, rounds, warmUpMs } from './bounds.ts'
import { openCustomers, unitsPerSecond } from './load.ts'
import type { Side } from './sides.ts'

export const callerCounts = [1, 16, 64] as const

export interface LedgerFigures {
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
  const units: Record<number, number[]> = { 1: [], 16: [], 64: [] }
  for (let round = 0; round < rounds; round++) {
    bare.push(await side.bareCommitsPerSecond(phaseMs))
    for (const callers of callerCounts) units[callers]?.push(await unitsPerSecond(side.store, callers, phaseMs))
  }
  const of = (callers: number) => units[callers] ?? []
  const ratioOf = (callers: number) => median(of(callers).map((value, round) => value / (bare[round] ?? Number.NaN)))
  return {
    bare: median(bare),
    units: { 1: median(of(1)), 16: median(of(16)), 64: median(of(64)) },
    ratios: { 1: ratioOf(1), 16: ratioOf(16), 64: ratioOf(64) },
  }
}
