import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunEnd, RunOrder } from '../fault-run.ts'
import { failuresAsLines, rowsAsLines } from '../lines.ts'
import { failuresTold, seedsForEveryState, toldEverySeeds, usualSteps } from './bounds.ts'
import type { SeedResult } from './run-seed.ts'
import { replayOfSeed } from './shrink.ts'
import { type SimulationReport, simulate } from './simulate.ts'
import { toldFailure } from './tell-failure.ts'

/** Seeds of the whole service in one process, on a clock, a store, engines and a chain of their own. */
export async function simRun(order: RunOrder): Promise<RunEnd> {
  const { count, seed, folder, say, onStop } = order
  const steps = order.steps ?? usualSteps
  const onSeed = (done: number, result: SeedResult) => {
    if (result.failure) say(`seed ${result.seed} failed. ${replayOfSeed(result)}`)
    if (done % toldEverySeeds === 0 || done === count) say(`${done} seeds`)
  }
  const report = await simulate({ seeds: count, firstSeed: seed, steps, onSeed, onStop })
  await keepTraces(report.failed, folder)
  return endOf(report, folder)
}

const traceFile = (folder: string, { seed }: SeedResult): string => join(folder, `seed-${seed}.txt`)

async function keepTraces(failed: readonly SeedResult[], folder: string): Promise<void> {
  if (failed.length > 0) await mkdir(folder, { recursive: true })
  for (const result of failed) await writeFile(traceFile(folder, result), `${result.failure?.trace.join('\n')}\n`)
}

/** A run is well where no seed failed and, in a long one, every interesting state was reached. */
export function endOf({ seeds, steps, failed, sometimes, tookMs }: SimulationReport, folder: string): RunEnd {
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
      ...failed.slice(0, failuresTold).flatMap(result => toldFailure(result, traceFile(folder, result))),
      ...failuresAsLines(failures),
      verdict,
    ],
  }
}
