import type pg from 'pg'
import { type Outcome, type PruneSlice, refusedByRule, StoreError } from '../store.ts'
import { batchParameters, batchValues } from './batch-columns.ts'
import { transientAttempts } from './bounds.ts'
import { DatabaseAway, isBrokenRule, isTransient, type WriterLink } from './link.ts'
import { outcomesOf, type SentUnit } from './sent-unit.ts'

const parameters = batchParameters.map((name, index) => `${name} => $${index + 1}`).join(', ')
const commitText = `SELECT commit_batch(${parameters}) AS answer`

interface BatchResult {
  /** One outcome or error a unit. */
  results: (Outcome | StoreError)[]
  /** Set where the database stayed away: what waits would only wait for it in vain, too. */
  away?: StoreError
}

/** Applies units under one commit, and answers after it is durable. */
export async function commitBatch(link: WriterLink, units: readonly SentUnit[]): Promise<BatchResult> {
  try {
    return { results: await commitTogether(link, units) }
  } catch (error) {
    if (error instanceof DatabaseAway) return { results: units.map(() => awayError(error)), away: unreachable(error) }
  }
  // One bad unit must not fail the others. Repeating is safe: a unit that was committed after all answers again.
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
  if (!row) throw new Error('The database answered nothing for a batch.')
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

export async function pruneRows(link: WriterLink, slice: PruneSlice, rows: number): Promise<number> {
  try {
    const { rowCount } = await link.send(pruneStatement(slice, rows))
    return rowCount ?? 0
  } catch (error) {
    throw error instanceof DatabaseAway ? awayError(error) : unitFailed(error)
  }
}

const unitFailed = (cause: unknown): StoreError =>
  isBrokenRule(cause)
    ? refusedByRule(cause)
    : new StoreError('unit_failed', 'The store could not apply a unit; it left no trace. See the cause.', { cause })

const awayError = (error: DatabaseAway): StoreError =>
  error.sent
    ? new StoreError(
        'outcome_unknown',
        'The database was lost during a commit; send the same units again to learn their outcome.',
        { cause: error.cause },
      )
    : unreachable(error)

const unreachable = ({ cause }: DatabaseAway): StoreError =>
  new StoreError('unreachable', 'The database cannot be reached, so nothing was written; try again later.', { cause })

/** Rows that another process is deleting at this moment are passed over. */
function pruneStatement(slice: PruneSlice, rows: number): pg.QueryConfig {
  switch (slice.table) {
    case 'unit':
      return { text: deleteOldest('unit', 'id < $1', 'id'), values: [slice.beforeId, rows] }
    case 'nonce':
      return {
        text: deleteOldest('nonce', 'expires_at_ms < $1', 'expires_at_ms'),
        values: [slice.expiredBeforeMs, rows],
      }
    case 'claim':
      // Answers go with their claims. One that is worked under stays, however long the work takes.
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

// Two searches by index, because one condition joined by OR would read the whole log.
const limitLog = `DELETE FROM limit_log WHERE seq IN (
  SELECT seq FROM (
    (SELECT seq FROM limit_log WHERE created_at_ms < $1 ORDER BY created_at_ms LIMIT $3)
    UNION
    (SELECT seq FROM limit_log WHERE seq <= (SELECT max(seq) FROM limit_log) - $2::bigint ORDER BY seq LIMIT $3)
  ) AS old LIMIT $3)`
