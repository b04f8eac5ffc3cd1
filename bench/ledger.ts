/**
 * Compares the ledger on both stores with bare commits on the same engine and disk, and measures paid requests over
 * HTTP.
 */
import { mkdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findPostgres } from '../test/needs/find-program.ts'
import { Cluster } from '../test/postgres/cluster.ts'
import { isMissed, type Line, report } from './kit/figures.ts'
import { goals, slowSyncMs } from './ledger/bounds.ts'
import { type HttpFigures, measureHttp } from './ledger/http.ts'
import { callerCounts, type LedgerFigures, measureLedger, measureOnSlowDisk } from './ledger/measure.ts'
import { postgresSide, sqliteSide } from './ledger/sides.ts'

const folder = await mkdtemp(join(tmpdir(), 'farebox-bench-'))
try {
  const lines = [...(await onSqlite()), ...(await onPostgres())]
  process.stdout.write(`${report(lines)}\n`)
  process.exitCode = lines.some(isMissed) ? 1 : 0
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

async function onSqlite(): Promise<Line[]> {
  tell('SQLite: bare commits and units in turn.')
  const place = join(folder, 'sqlite')
  mkdirSync(place)
  const side = await sqliteSide(place)
  const figures = await measureLedger(side).finally(() => side.close())
  tell(`SQLite with ${slowSyncMs} ms added to each sync.`)
  const slow = await measureOnSlowDisk(folder)
  if (!slow) tell('Skipped: this needs Linux and a C compiler.')
  tell('SQLite through HTTP.')
  const http = await measureHttp(join(folder, 'sqlite-http'))
  const slowName = `SQLite, ${slowSyncMs} ms more a sync`
  return [
    ...ledgerLines('SQLite', figures, goals.manyCallers, goals.oneCaller),
    ...(slow ? ledgerLines(slowName, slow, goals.manyCallersOnSlowDisk) : []),
    ...httpLines('SQLite', http),
  ]
}

async function onPostgres(): Promise<Line[]> {
  if (!findPostgres()) {
    tell('PostgreSQL: skipped, because it is not installed here.')
    return []
  }
  const cluster = await Cluster.start()
  try {
    tell('PostgreSQL: bare commits and units in turn.')
    const side = await postgresSide(cluster.url)
    const figures = await measureLedger(side).finally(() => side.close())
    tell('PostgreSQL through HTTP.')
    const http = await measureHttp(join(folder, 'postgres-http'), cluster.url)
    return [...ledgerLines('PostgreSQL', figures, goals.manyCallers, goals.oneCaller), ...httpLines('PostgreSQL', http)]
  } finally {
    await cluster.stop()
  }
}

function ledgerLines(name: string, figures: LedgerFigures, many: number, one?: number): Line[] {
  const { bare, units, ratios, bareRows } = figures
  return [
    { what: `${name}: bare commits`, value: bare, unit: '/s' },
    ...callerCounts.flatMap((callers): Line[] => {
      const atLeast = callers === 64 ? many : callers === 1 ? one : undefined
      return [
        { what: `${name}: units, ${callers} callers`, value: units[callers], unit: '/s' },
        {
          what: `${name}: beside bare commits, ${callers} callers`,
          value: ratios[callers],
          digits: 2,
          unit: ' ×',
          ...(atLeast === undefined ? {} : { atLeast }),
        },
      ]
    }),
    ...(bareRows ? bareRowLines(name, bareRows, units[64]) : []),
  ]
}

/** Compares the ledger with the best that the database allows for these rows on this machine. */
function bareRowLines(
  name: string,
  { units, ratio }: NonNullable<LedgerFigures['bareRows']>,
  ofLedger: number,
): Line[] {
  const beside = `${name}: units beside the same rows without rules, 64 callers`
  return [
    { what: `${name}: the same rows without rules or threads, 64 a commit`, value: units, unit: '/s' },
    { what: `${name}: those beside bare commits`, value: ratio, digits: 2, unit: ' ×' },
    { what: beside, value: ofLedger / units, digits: 2, unit: ' ×', atLeast: goals.besideSameRows },
  ]
}

function httpLines(name: string, { requestsPerSecond, p50Ms, p99Ms }: HttpFigures): Line[] {
  const what = `${name}: paid requests over HTTP, 64 callers`
  return [
    { what, value: requestsPerSecond, unit: '/s', atLeast: goals.paidRequestsPerSecond },
    { what: `${name}: their median`, value: p50Ms, digits: 1, unit: ' ms' },
    { what: `${name}: their 99th of 100`, value: p99Ms, digits: 1, unit: ' ms' },
  ]
}

function tell(text: string): void {
  process.stderr.write(`${text}\n`)
}
