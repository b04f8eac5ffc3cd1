import type pg from 'pg'
import { transientAttempts } from '../../bounds.ts'
import { type Chore, GroupCommit, settle, type UnitPlace } from '../group-commit.ts'
import { type EntryFold, type Outcome, type PruneSlice, refusedByRule, StoreError } from '../store.ts'
import type { Unit } from '../units.ts'
import { batchParameters, batchValues } from './batch-columns.ts'
import { DatabaseAway, isBrokenRule, isServerFault, isTransient, type WriterLink } from './connection.ts'
import { invalidOutcome, outcomesOf, type SentUnit, sentUnit } from './sent-unit.ts'

interface Waiting extends SentUnit, UnitPlace {}

/**
 * Gathered units are sent as one call of the batch function, over one connection. With more connections, units could
 * overtake each other, and little would be gained: the time is spent in the database, not on the way to it.
 */
export class PostgresWriter extends GroupCommit<Waiting, pg.QueryConfig> {
  readonly #link: WriterLink

  constructor(link: WriterLink) {
    super('database')
    this.#link = link
  }

  prune(slice: PruneSlice, rows: number): Promise<number> {
    return this.ask(pruneStatement(slice, rows))
  }

  async foldEntries(fold: EntryFold): Promise<void> {
    await this.ask(foldStatement(fold))
  }

  /** Accepts nothing more, finishes what was accepted, closes the connection. */
  async close(): Promise<void> {
    if (await this.finish()) await this.#link.close()
  }

  protected override take(unit: Unit, place: UnitPlace): void {
    try {
      const sent = sentUnit(unit)
      if (sent) this.waiting.push({ ...sent, ...place })
      else settle(place, invalidOutcome(-1))
    } catch (cause) {
      place.call.reject(new StoreError('unit_failed', 'A unit is not plain data; nothing was written.', { cause }))
    }
  }

  protected override sendChore({ order, resolve, reject }: Chore<pg.QueryConfig>): void {
    rowsOf(this.#link, order)
      .then(resolve, reject)
      .then(() => this.sent())
  }

  protected override async sendBatch(batch: Waiting[]): Promise<void> {
    const { results, away } = await commitBatch(this.#link, batch)
    for (const [position, waiting] of batch.entries()) settle(waiting, results[position] ?? noOutcome())
    if (away) for (const waiting of this.waiting.splice(0)) settle(waiting, away)
    this.sent()
  }
}

const noOutcome = (): StoreError => new StoreError('outcome_unknown', 'The database did not answer for a unit.')

const parameters = batchParameters.map((name, index) => `${name} => $${index + 1}`).join(', ')
const commitText = `SELECT commit_batch(${parameters}) AS answer`

interface BatchResult {
  /** One outcome or error per unit. */
  results: (Outcome | StoreError)[]
  /** Set if the database stayed unreachable: the waiting units would only wait in vain. */
  away?: StoreError
}

/** Applies units in one commit, and returns after it is durable. */
async function commitBatch(link: WriterLink, units: readonly SentUnit[]): Promise<BatchResult> {
  try {
    return { results: await commitTogether(link, units) }
  } catch (error) {
    if (error instanceof DatabaseAway) return { results: units.map(() => awayError(error)), away: unreachable(error) }
  }
  // One bad unit must not fail the others. Repeating is safe: a unit that was committed after all returns its outcome
  // again.
  const results: (Outcome | StoreError)[] = []
  for (const unit of units) {
    const result = await commitAlone(link, unit)
    if (!(result instanceof DatabaseAway)) results.push(result)
    else {
      results.push(awayError(result))
      const away = unreachable(result)
      return { results: units.map((_, index) => results[index] ?? away), away }
    }
  }
  return { results }
}

async function commitTogether(link: WriterLink, units: readonly SentUnit[]): Promise<Outcome[]> {
  const { rows } = await link.send<{ answer: string }>({ name: 'commit', text: commitText, values: batchValues(units) })
  const [row] = rows
  if (!row) throw new Error('The database returned nothing for a batch.')
  return outcomesOf(units, row.answer)
}

async function commitAlone(link: WriterLink, unit: SentUnit): Promise<Outcome | StoreError | DatabaseAway> {
  for (let attempt = 1; ; attempt++) {
    try {
      const [outcome] = await commitTogether(link, [unit])
      return outcome ?? unitFailed('no answer')
    } catch (error) {
      if (error instanceof DatabaseAway) return error
      if (!isTransient(error) || attempt >= transientAttempts) return unitFailed(error)
    }
  }
}

async function rowsOf(link: WriterLink, query: pg.QueryConfig): Promise<number> {
  try {
    const { rowCount } = await link.send(query)
    return rowCount ?? 0
  } catch (error) {
    throw error instanceof DatabaseAway ? awayError(error) : unitFailed(error)
  }
}

function unitFailed(cause: unknown): StoreError {
  if (isBrokenRule(cause)) return refusedByRule(cause)
  return isServerFault(cause) || isTransient(cause)
    ? new StoreError('unreachable', 'The database accepted no writes; see its log, then try again.', { cause })
    : new StoreError('unit_failed', 'The store could not apply a unit; nothing was written. See the cause.', { cause })
}

const awayError = (error: DatabaseAway): StoreError =>
  error.isLost
    ? new StoreError(
        'outcome_unknown',
        'The connection to the database was lost during a commit; send the same units again to learn their outcome.',
        { cause: error.cause },
      )
    : unreachable(error)

const unreachable = ({ cause }: DatabaseAway): StoreError =>
  new StoreError('unreachable', 'The database cannot be reached, so nothing was written; try again later.', { cause })

const foldText = 'SELECT fold_entries($1, $2, $3, $4, $5, $6) AS gone'

function foldStatement({ account, firstSeq, lastSeq, count, entries, beforeMs }: EntryFold): pg.QueryConfig {
  // JSON has no integers of that size; the function reads them from texts.
  const rows = JSON.stringify(entries, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
  return { text: foldText, values: [account, firstSeq, lastSeq, count, beforeMs, rows] }
}

/** Skips rows that another process is deleting at the same time. */
function pruneStatement(slice: PruneSlice, rows: number): pg.QueryConfig {
  switch (slice.table) {
    case 'ended_hold':
      return { text: deleteOldest('ended_hold', 'id < $1', 'id'), values: [slice.beforeId, rows] }
    case 'unit':
      return { text: deleteOldest('unit', 'id < $1', 'id'), values: [slice.beforeId, rows] }
    case 'nonce':
      return {
        text: deleteOldest('nonce', 'expires_at_ms < $1', 'expires_at_ms'),
        values: [slice.expiredBeforeMs, rows],
      }
    case 'claim':
      // Answers are deleted with their claims. The claim of running work stays, however long the work takes.
      return {
        text: deleteOldest(
          'claim',
          "created_at_ms < $1 AND (state = 'done' OR lease_until_ms IS NULL OR lease_until_ms < $1)",
          'created_at_ms',
        ),
        values: [slice.createdBeforeMs, rows],
      }
    case 'limit_log':
      return { text: limitLog, values: [slice.createdBeforeMs, slice.keepNewest, rows] }
  }
}

const deleteOldest = (table: string, where: string, order: string): string =>
  `DELETE FROM ${table} WHERE id IN (
    SELECT id FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT $2 FOR UPDATE SKIP LOCKED)`

// Two searches by index, because one condition with OR would scan the whole log.
const limitLog = `DELETE FROM limit_log WHERE seq IN (
  SELECT seq FROM (
    (SELECT seq FROM limit_log WHERE created_at_ms < $1 ORDER BY created_at_ms LIMIT $3)
    UNION
    (SELECT seq FROM limit_log WHERE seq <= (SELECT max(seq) FROM limit_log) - $2::bigint ORDER BY seq LIMIT $3)
  ) AS old LIMIT $3)`
