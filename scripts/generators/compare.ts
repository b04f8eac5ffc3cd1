import { readFile } from 'node:fs/promises'
import { machineInWords, median, readResult } from '../../bench/kit/figures.ts'

const page = new URL('../../docs/compare.md', import.meta.url)
const [begin, end] = ['<!-- measured: written by npm run generate -->', '<!-- end of measured -->']

/** Rows of kept benchmarks, by name, load and metric. */
const rows = [
  { name: 'proxy', what: 'Chats a second, 32 connections', load: '32 connections', metric: 'requests/s' },
  { name: 'proxy', what: 'CPU per chat, µs', load: '32 connections', metric: 'CPU per request, µs' },
  { name: 'proxy', what: 'p50 of a chat, ms', load: '32 connections', metric: 'p50, ms' },
  { name: 'proxy', what: 'p99 of a chat, ms', load: '32 connections', metric: 'p99, ms' },
  {
    name: 'stream',
    what: 'CPU per event, µs, 500 streams',
    load: '500 streams × 100 events/s',
    metric: 'CPU per event, µs',
  },
  {
    name: 'stream',
    what: 'p50 of an event, ms, 500 streams',
    load: '500 streams × 100 events/s',
    metric: 'p50 from engine to caller, ms',
  },
] as const

/** In the order of the table; farebox's own side has two names. */
const sides = [['farebox', 'farebox, rewritten'], ['Portkey 1.15.2'], ['bare undici pipe']] as const

/** The page of comparisons with the figures of the last full runs; everything else stays unchanged. */
export async function comparePage(): Promise<string> {
  const text = await readFile(page, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/compare.md lacks the lines ${begin} and ${end}; put them back.`)
  return `${text.slice(0, from)}${begin}\n${lines().join('\n')}\n${text.slice(to)}`
}

function lines(): string[] {
  const proxy = readResult('proxy')
  return [
    `${proxy ? machineInWords(proxy.machine) : 'There are no figures yet'}; each server on one core. [Performance](performance.md) has every load and server.`,
    '',
    '| | farebox | Portkey 1.15.2 | bare pipe |',
    '|---|---|---|---|',
    ...rows.map(row => `| ${row.what} | ${sides.map(names => figureOf(row, names)).join(' | ')} |`),
  ]
}

function figureOf({ name, load, metric }: (typeof rows)[number], names: readonly string[]): string {
  const figure = readResult(name)?.figures.find(
    each => each.load === load && each.metric === metric && names.includes(each.side),
  )
  if (!figure) return '–'
  const { rounds, digits = 0 } = figure
  return median(rounds).toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
