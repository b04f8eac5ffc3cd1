/** A short run of each benchmark still measures every side; speed is not tested. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packedProduct } from '../../bench/kit/product.ts'
import { copyBuiltPackage } from '../build/built-package.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Ten times what the longest takes, on a machine that is busy. */
const runMs = 300_000
let product: string

beforeAll(async () => {
  product = await mkdtemp(join(tmpdir(), 'farebox-bench-'))
  await packedProduct(product, copyBuiltPackage)
}, 240_000)
afterAll(() => rm(product, { recursive: true, force: true }))

/** The report of a short run; rejects with what it wrote to stderr where it fails. */
async function shortRun(name: string): Promise<string> {
  const args = [join(root, 'bench', `${name}.ts`), '--short', '--product', product]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout: runMs })
  return stdout
}

/** Each row of a table is a load and its figures; one that was not measured would be empty, 0 or no number. */
function cellsOf(report: string, metric: string): string[] {
  const lines = report.split('\n')
  const from = lines.indexOf(lines.find(line => line.startsWith(`| ${metric} |`)) ?? '')
  const rows = lines.slice(from + 2, lines.indexOf('', from) < 0 ? undefined : lines.indexOf('', from))
  return rows.flatMap(row => row.split('|').slice(2, -1)).map(cell => cell.trim())
}

const isMeasured = (cell: string) => Number(cell.replaceAll(',', '').split(' ')[0]) > 0

/** The metric of a benchmark that all its sides and loads have, and how many figures of it there are. */
async function measures(name: string, metric: string, count: number): Promise<void> {
  const cells = cellsOf(await shortRun(name), metric)
  expect(cells.filter(isMeasured)).toHaveLength(count)
}

describe('beside a gateway', { tags: ['gateways', 'linux'] }, () => {
  test.each([
    ['proxy', 'CPU per request, µs', 12],
    ['stream', 'CPU per event, µs', 4],
  ])('bench:%s measures every side', { timeout: runMs }, measures)
})

describe('on SQLite', { tags: ['linux'] }, () => {
  test.each([
    ['start', 'start to the first 200, ms', 4],
    ['growth', 'CPU per request, µs', 4],
    ['top-up', 'time to credit, ms', 2],
    ['endure', 'calls charged, × calls made', 4],
  ])('bench:%s measures every side', { timeout: runMs }, measures)
})

describe('by wallets', { tags: ['curve-addon', 'linux'] }, () => {
  test('bench:signed measures every side', { timeout: runMs }, () => measures('signed', 'CPU per request, µs', 3))
})

describe('on PostgreSQL', { tags: ['postgresql', 'linux'] }, () => {
  test('bench:operator asks every question on both stores', { timeout: runMs }, () =>
    measures('operator', 'p95 of an answer, ms', 78),
  )
  test('bench:ledger measures chats on both stores', { timeout: runMs }, () =>
    measures('ledger', 'paid chats/s over HTTP', 2),
  )
})

describe('on PostgreSQL and Valkey', { tags: ['postgresql', 'valkey', 'linux'] }, () => {
  test('bench:scale measures every number of processes under both loads', { timeout: runMs }, () =>
    measures('scale', 'CPU per request with database and Valkey, µs', 4),
  )
})
