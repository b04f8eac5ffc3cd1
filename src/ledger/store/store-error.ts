export type StoreFailure =
  /** The writer died or the disk failed after the units were sent: send the same units again to learn their outcome. */
  | 'outcome_unknown'
  /** A unit could not be applied and left no trace. */
  | 'unit_failed'
  /** The database or its disk could not be had; a unit left no trace. */
  | 'unreachable'
  /** A rule of the tables refused a unit, so the rows are not as the books left them. It left no trace. */
  | 'broken_rule'
  | 'queue_full'
  | 'writer_dead'
  | 'closed'
  | 'folder_in_use'
  | 'unusable_database'
  /** The file is there, and SQLite cannot read it, or it has gone; only a backup brings the ledger back. */
  | 'damaged_database'

/** What goes wrong with the store itself. A refused unit is an outcome, never an error. */
export class StoreError extends Error {
  readonly kind: StoreFailure

  constructor(kind: StoreFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreError'
    this.kind = kind
  }
}

/** SQLite's primary codes of a file that is damaged, and of one that is no database. */
const damageCodes: ReadonlySet<unknown> = new Set([11, 26])

/** Whether SQLite found the file itself damaged. */
export const isDamage = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && damageCodes.has(Number(error.errcode) & 0xff)

/** Why a unit could not be applied; `cause` is the engine's own error, whose words may be in any language. */
export const refusedByRule = (cause: unknown): StoreError =>
  new StoreError('broken_rule', 'A rule of the tables refused a unit; it left no trace. See the cause.', { cause })
