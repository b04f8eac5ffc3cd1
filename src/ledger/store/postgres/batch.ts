import type { Outcome } from '../outcome.ts'
import type { PruneSlice } from '../store.ts'
import { refusedByRule, StoreError } from '../store-error.ts'
import { batchParameters, batchValues } from './batch-columns.ts'
import { transientAttempts } from './bounds.ts'
import { DatabaseAway, type WriterLink } from './link.ts'
import { pruneStatement } from './prune-slice.ts'
import { outcomesOf, type SentUnit } from './sent-unit.ts'
import { isBrokenRule, isTransient } from './sql-state.ts'

const parameters = batchParameters.map((name, index) => `${name} => $${index + 1}`).join(', ')
const commitText = `SELECT commit_batch(${parameters}) AS answer`

export interface BatchResult {
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
