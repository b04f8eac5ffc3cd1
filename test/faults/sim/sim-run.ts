import type { RunEnd, RunOrder } from '../fault-run.ts'
import { failuresAsLines, rowsAsLines } from '../lines.ts'
import { failuresTold, seedsForEveryState, toldEverySeeds, usualSteps } from './bounds.ts'
import type { SeedResult } from './run-seed.ts'
import { replayOfSeed } from './shrink.ts'
import { type SimulationReport, simulate } from './simulate.ts'

/** Seeds of the whole service in one process, on a clock, a store, engines and a chain of their own. */
export async function simRun(order: RunOrder): Promise<RunEnd> {
  const { count, seed, say, onStop } = order
  const steps = order.steps ?? usualSteps
  const onSeed = (done: number, result: SeedResult) => {
    if (result.failure) say(`seed ${result.seed} failed. ${replayOfSeed(result)}`)
    if (done % toldEverySeeds === 0 || done === count) say(`${done} seeds`)
  }
  return endOf(await simulate({ seeds: count, firstSeed: seed, steps, onSeed, onStop }))
}

/** A run is well where no seed failed and, in a long one, every interesting state was reached. */
export function endOf({ seeds, steps, failed, sometimes, tookMs }: SimulationReport): RunEnd {
  const missing = seeds >= seedsForEveryState ? sometimes.missing() : []
  const rows: [string, string][] = [
    ['seeds', `${seeds} of ${steps} steps, ${(tookMs / 1000).toFixed(1)} s`],
    ...[...sometimes.counts].map(([state, times]): [string, string] => [`${times}`, state]),
  ]
  const failures = [
    ...failed.map(result => `seed ${result.seed}: ${result.failure?.sentence} ${replayOfSeed(result)}`),
    ...missing.map(state => `never reached: ${state}`),
  ]
  const reached = seeds < seedsForEveryState ? '' : ', every interesting state reached'
  const verdict = failures.length
    ? `${failed.length} of ${seeds} seeds failed, ${missing.length} states were never reached`
    : `${seeds} seeds, no rule broken${reached}`
  return {
    isWell: failures.length === 0,
    lines: [
      ...rowsAsLines(rows),
      ...failed.slice(0, failuresTold).flatMap(whole),
      ...failuresAsLines(failures),
      verdict,
    ],
  }
}

/** What led to a failure, and how to see it again. */
const whole = (result: SeedResult): string[] => [
  ...(result.failure?.trace.map(line => `  ${line}`) ?? []),
  `Seed ${result.seed}, step ${result.failure?.step}: ${result.failure?.sentence}`,
  `Again with: ${replayOfSeed(result)}`,
]
