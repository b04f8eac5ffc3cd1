import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describeMachine, type Machine } from './machine.ts'
import type { BenchOptions } from './options.ts'

/** The measurements of one side under one load, one value per round. */
export interface Figure {
  /** The load: `32 connections`. */
  load: string
  /** The name of the figure with its unit, such as `CPU per request, µs`. */
  metric: string
  side: string
  rounds: number[]
  digits?: number
}

/** All measurements of one run of a benchmark, as stored in docs/performance/NAME.json. */
export interface Result {
  machine: Machine
  figures: Figure[]
  goals: Line[]
}

/** Returns the median of the rounds' own ratios, because a busy moment of the machine affects both sides of a round. */
export function ratioOf(figures: readonly Figure[], load: string, metric: string, side: string, other: string): number {
  const of = (name: string) =>
    figures.find(each => each.load === load && each.metric === metric && each.side === name)?.rounds ?? []
  const others = of(other)
  return median(of(side).map((value, round) => value / (others[round] ?? Number.NaN)))
}

/** A row per load, a column per side: the median of its rounds, with the smallest and largest. */
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

/** Goals as a list; empty if a benchmark has none. */
export const goalsInWords = (goals: readonly Line[]): string[] =>
  goals.map(line => {
    const goal = goalOf(line)
    return `${line.what}: ${inUnits(line)}${goal && ` (${goal})`}`
  })

const fileOf = (name: string): URL => new URL(`../../docs/performance/${name}.json`, import.meta.url)

/** Returns null for a benchmark that was never run. */
export function readResult(name: string): Result | null {
  try {
    return JSON.parse(readFileSync(fileOf(name), 'utf8')) as Result
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Prints machine, raw rounds, tables and goals. A full run is stored, and `npm run generate` builds the page from it.
 */
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
  // A profiler slows what it measures.
  if (isShort || profile) return
  const kept = { machine, figures: figures.map(rounded), goals } satisfies Result
  mkdirSync(new URL('.', fileOf(name)), { recursive: true })
  writeFileSync(fileOf(name), `${JSON.stringify(kept, null, 1)}\n`)
  process.stdout.write(`Saved in docs/performance/${name}.json. Run npm run generate to update the page.\n`)
}

const rounded = (figure: Figure): Figure => ({
  ...figure,
  rounds: figure.rounds.map(value => Number(value.toFixed(figure.digits ?? 0))),
})

/** One measured value, with its goal, if any. */
export interface Line {
  what: string
  value: number
  atLeast?: number
  atMost?: number
  unit?: string
  digits?: number
}

export const isMissed = ({ value, atLeast, atMost }: Line): boolean =>
  (atLeast !== undefined && !(value >= atLeast)) || (atMost !== undefined && !(value <= atMost))

/** A table with one line per value. */
export function report(lines: readonly Line[]): string {
  const width = Math.max(...lines.map(({ what }) => what.length))
  return lines
    .map(line => `${line.what.padEnd(width)}  ${inUnits(line).padStart(12)}  ${goalOf(line)}`.trimEnd())
    .join('\n')
}

const inUnits = ({ value, digits = 0, unit = '' }: Pick<Line, 'value' | 'digits' | 'unit'>): string =>
  `${value.toFixed(digits)}${unit}`

/** `goal ≤ 1 ms, met`; empty for a value without a goal. */
export function goalOf(line: Line): string {
  const { atLeast, atMost, unit = '' } = line
  const bounds = [
    atLeast === undefined ? [] : [`≥ ${atLeast}${unit}`],
    atMost === undefined ? [] : [`≤ ${atMost}${unit}`],
  ]
  const goal = bounds.flat().join(', ')
  return goal && `goal ${goal}: ${isMissed(line) ? 'missed' : 'met'}`
}

/** Returns the middle value; for an even count, the upper of the two. Throws if there is none. */
export function median(values: readonly number[]): number {
  const middle = values.toSorted((a, b) => a - b)[values.length >> 1]
  if (middle === undefined) throw new Error('Nothing was measured.')
  return middle
}

/** Returns the value below which this share of all lies, from 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/**
 * Measures every side once per round, one after another, so that anything that slows the machine for a moment affects
 * all of them. Returns the measurements of each side, by round.
 */
export async function inTurn<Side, Measured>(
  sides: readonly Side[],
  rounds: number,
  measure: (side: Side, round: number) => Promise<Measured>,
): Promise<Measured[][]> {
  const measured = sides.map(() => [] as Measured[])
  for (let round = 0; round < rounds; round++) {
    for (const [index, side] of turned([...sides.entries()], round)) measured[index]?.push(await measure(side, round))
  }
  return measured
}

/**
 * Every other round goes backwards, and every two rounds the start shifts, so that no side always follows the same one.
 */
export function turned<Item>(items: readonly Item[], round: number): Item[] {
  const at = items.length ? (round >> 1) % items.length : 0
  const order = [...items.slice(at), ...items.slice(0, at)]
  return round % 2 === 0 ? order : order.reverse()
}
