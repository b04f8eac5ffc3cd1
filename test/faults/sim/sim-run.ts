import type { RunEnd, RunOrder } from '../fault-run.ts'
import { failuresAsLines, rowsAsLines } from '../lines.ts'
import { failuresTold, toldEverySeeds, usualSteps } from './bounds.ts'
import { replayOfSeed } from './shrink.ts'
import { type SimulationReport, simulate } from './simulate.ts'

/** Seeds of the whole service in one process, on a clock, a store, engines and a chain of their own. */
export async function simRun(order: RunOrder): Promise<RunEnd> {
  const { count, seed, say, onStop } = order
  const steps = order.steps ?? usualSteps
  const onSeed = (done: number) => {
    if (done % toldEverySeeds === 0 || done === count) say(`${done} seeds`)
  }
  const report = await simulate({ seeds: count, firstSeed: seed, steps, onSeed, onStop })
  return { isWell: report.failed.length === 0 && report.missing.length === 0, lines: linesOf(report) }
}

function linesOf({ seeds, steps, failed, sometimes, missing, tookMs }: SimulationReport): string[] {
  const rows: [string, string][] = [
    ['seeds', `${seeds} of ${steps} steps, ${(tookMs / 1000).toFixed(1)} s`],
    ...[...sometimes.counts].map(([state, times]): [string, string] => [`${times}`, state]),
  ]
  const told = failed
    .slice(0, failuresTold)
    .flatMap(result => [
      ...(result.failure?.trace.map(line => `  ${line}`) ?? []),
      `Seed ${result.seed}, step ${result.failure?.step}: ${result.failure?.sentence}`,
      `Again with: ${replayOfSeed(result)}`,
    ])
  const failures = [
    ...failed.map(result => `seed ${result.seed}: ${result.failure?.sentence} ${replayOfSeed(result)}`),
    ...missing.map(state => `never reached: ${state}`),
  ]
  const verdict = failures.length
    ? `${failed.length} of ${seeds} seeds failed, ${missing.length} states were never reached`
    : `${seeds} seeds, no rule broken${seeds < 500 ? '' : ', every interesting state reached'}`
  return [...rowsAsLines(rows), ...told, ...failuresAsLines(failures), verdict]
}
