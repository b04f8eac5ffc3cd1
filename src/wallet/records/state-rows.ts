import { type MicroUsd, microUsd } from '#contract/money.ts'
import { maxReasonLength } from '../limits.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import { change, type Work } from './records.ts'

/** `unknown` is a state, not an error: the same bytes are sent again until they are answered or have expired. */
export type PaymentState = 'planned' | 'signed' | 'sent' | 'unknown' | 'confirmed' | 'dead'

interface StateTable {
  table: 'payments' | 'transfers'
  noun: 'payment' | 'transfer'
  /** Whether its rows have the time of their last step. */
  hasUpdateTime: boolean
}

/** Moves rows of a table from state to state. Each step is recorded in the table of its steps. */
export function stateRows({ table, noun, hasUpdateTime }: StateTable) {
  const updateTime = hasUpdateTime ? ', updated_at_ms = ?' : ''

  function* note(id: string, state: PaymentState, why: string | null, nowMs: number): Work<void> {
    yield* change(
      `INSERT INTO ${noun}_steps (${noun}_id, at_ms, state, note) VALUES (?, ?, ?, ?)`,
      ...[id, nowMs, state, why],
    )
  }

  /** Throws if the row is in none of the states `from`, because another process has moved it. */
  function* step(
    id: string,
    from: readonly PaymentState[],
    to: PaymentState,
    why: string | null,
    nowMs: number,
  ): Work<void> {
    const reason = why?.slice(0, maxReasonLength) ?? null
    const changes = yield* change(
      `UPDATE ${table} SET state = ?, reason = ?${updateTime} WHERE id = ? AND state IN (${placesOf(from)})`,
      ...[to, reason, ...(hasUpdateTime ? [nowMs] : []), id, ...from],
    )
    if (changes !== 1) throw wrongStep(id)
    yield* note(id, to, reason, nowMs)
  }

  const wrongStep = (id: string): WalletRefusal =>
    new WalletRefusal({
      rule: 'state',
      sentence: `The ${noun} ${id} is not in the expected state; another process has changed it.`,
      nextStep: 'Check `farebox wallet receipts`, then try again.',
    })

  return { note, step, wrongStep }
}

export const placesOf = (values: readonly unknown[]): string => values.map(() => '?').join(', ')

/** PostgreSQL returns large integers as text. */
export const numberOrNull = (value: unknown): number | null =>
  value === null || value === undefined ? null : Number(value)
export const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
export const usdOrNull = (value: unknown): MicroUsd | null =>
  value === null || value === undefined ? null : microUsd(Number(value))
