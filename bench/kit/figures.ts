import { readFileSync, writeFileSync } from 'node:fs'
import { describeMachine, type Machine } from './machine.ts'
import type { BenchOptions } from './options.ts'
import { goalOf, type Line, median, report } from './report.ts'

/** What one side showed under one load, a value a round. */
export interface Figure {
  /** The load: `32 connections`. */
  load: string
  /** What was measured, with its unit: `CPU a request, µs`. */
  metric: string
  side: string
  rounds: number[]
  digits?: number
}

/** All that one run of a benchmark measured, as it is kept in docs/performance/NAME.json. */
export interface Result {
  machine: Machine
  figures: Figure[]
  goals: Line[]
}

/** The median of the rounds' own ratios: a busy moment of the machine weighs on both sides of a round. */
export function ratioOf(figures: readonly Figure[], load: string, metric: string, side: string, other: string): number {
  const of = (name: string) =>
    figures.find(each => each.load === load && each.metric === metric && each.side === name)?.rounds ?? []
  const others = of(other)
  return median(of(side).map((value, round) => value / (others[round] ?? Number.NaN)))
}

/** A row a load, a column a side: the median of its rounds, and the smallest and largest beside it. */
export function tableOf(figures: readonly Figure[], metric: string): string[] {
  const some = figures.filter(each => each.metric === metric)
  const sides = distinct(some.map(({ side }) => side))
  const cell = (load: string, side: string) => {
    const figure = some.find(each => each.load === load && each.side === side)
    return figure ? inWords(figure) : ''
  }
  const loads = distinct(some.map(({ load }) => load))
  return [
    `| ${metric} | ${sides.join(' | ')} |`,
    `|---|${sides.map(() => '---').join('|')}|`,
    ...loads.map(load => `| ${load} | ${sides.map(side => cell(load, side)).join(' | ')} |`),
  ]
}

export const metricsOf = (figures: readonly Figure[]): string[] => distinct(figures.map(({ metric }) => metric))

export const distinct = (values: readonly string[]): string[] => [...new Set(values)]

function inWords({ rounds, digits = 0 }: Figure): string {
  const show = (value: number) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  const middle = show(median(rounds))
  return rounds.length > 1 ? `${middle} (${show(Math.min(...rounds))}–${show(Math.max(...rounds))})` : middle
}

export const machineInWords = ({ node, processor, cores, memoryGiB, loadBefore, date }: Machine): string =>
  `Node ${node}, ${cores} × ${processor}, ${memoryGiB} GiB, load ${loadBefore} before the run, ${date} UTC`

/** Goals as a list; empty where a benchmark has none. */
export const goalsInWords = (goals: readonly Line[]): string[] =>
  goals.map(line => `${line.what}: ${line.value.toFixed(line.digits ?? 0)}${line.unit ?? ''} (${goalOf(line)})`)

const fileOf = (name: string): URL => new URL(`../../docs/performance/${name}.json`, import.meta.url)

/** Null for a benchmark that was never run. */
export function readResult(name: string): Result | null {
  try {
    return JSON.parse(readFileSync(fileOf(name), 'utf8')) as Result
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Prints machine, raw rounds, tables and goals. A whole run is kept, from which `npm run generate` prints the page. */
export async function finish(
  name: string,
  { isShort, profile }: Pick<BenchOptions, 'isShort' | 'profile'>,
  measure: () => Promise<Omit<Result, 'machine'>>,
): Promise<void> {
  const machine = describeMachine()
  const { figures, goals } = await measure()
  const raw = figures.map(
    ({ load, metric, side, rounds, digits = 0 }) =>
      `${load} · ${metric} · ${side}: ${rounds.map(value => value.toFixed(digits)).join(' ')}`,
  )
  const tables = metricsOf(figures).map(metric => tableOf(figures, metric).join('\n'))
  const parts = [machineInWords(machine), raw.join('\n'), ...tables, goals.length ? report(goals) : '']
  process.stdout.write(`${parts.filter(Boolean).join('\n\n')}\n`)
  // A profiler slows what it looks at.
  if (isShort || profile) return
  const kept = { machine, figures: figures.map(rounded), goals } satisfies Result
  writeFileSync(fileOf(name), `${JSON.stringify(kept, null, 1)}\n`)
  process.stdout.write(`Kept in docs/performance/${name}.json; npm run generate prints the page.\n`)
}

const rounded = (figure: Figure): Figure => ({
  ...figure,
  rounds: figure.rounds.map(value => Number(value.toFixed(figure.digits ?? 0))),
})
