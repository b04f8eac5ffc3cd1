import type { Work } from './work.ts'

/** The journal and the budget, wherever they are kept. `nowMs` is the time by the clock of the records, not of a caller. */
export interface Records {
  /** The data folder whose file they are; null where they are in a database that other machines may share. */
  readonly folder: string | null
  /** One at a time for all who share the records; what is read inside can't change before it is written. */
  decide<Result>(work: (nowMs: number) => Work<Result>): Promise<Result>
  /** Changes nothing and waits for nobody. */
  read<Result>(work: (nowMs: number) => Work<Result>): Promise<Result>
  close(): Promise<void>
}
