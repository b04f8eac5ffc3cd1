/**
 * The journal and the budget, wherever they are stored. `nowMs` is the time by the clock of the records, not the
 * caller's.
 */
export interface Records {
  /** The data folder of the file; null if the records are in a database that other machines may share. */
  readonly folder: string | null
  /**
   * Runs one decision at a time for all who share the records; what is read inside cannot change before it is written.
   */
  decide<Result>(work: (nowMs: number) => Work<Result>): Promise<Result>
  /** Changes nothing and does not wait. */
  read<Result>(work: (nowMs: number) => Work<Result>): Promise<Result>
  close(): Promise<void>
}

export type Value = string | number | bigint | null
export type Row = Readonly<Record<string, unknown>>

/** SQL that every store of the records understands; each `?` is a value. */
export interface Statement {
  text: string
  values: readonly Value[]
  /** Whether it changes rows; if not, it returns them. */
  isChange: boolean
}

export interface Answer {
  rows: readonly Row[]
  changes: number
}

/**
 * Work on the records, statement by statement: it yields each one and receives the answer. It cannot wait for anything
 * else, so nothing happens between its reads and writes. A store may run it again from the beginning.
 */
export type Work<Result> = Generator<Statement, Result, Answer>

export function* all(text: string, ...values: Value[]): Work<readonly Row[]> {
  return (yield { text, values, isChange: false }).rows
}

export function* first(text: string, ...values: Value[]): Work<Row | undefined> {
  return (yield { text, values, isChange: false }).rows[0]
}

/** Returns how many rows it changed. */
export function* change(text: string, ...values: Value[]): Work<number> {
  return (yield { text, values, isChange: true }).changes
}
