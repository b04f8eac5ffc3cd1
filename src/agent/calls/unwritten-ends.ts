import type { PaidCallRows } from './paid-call-rows.ts'

/** What became of calls where it could not be written; until it is, their rows say that this process is at them. */
export class UnwrittenEnds {
  readonly #rows: PaidCallRows
  readonly #ends = new Map<string, 'lost' | 'failed'>()

  constructor(rows: PaidCallRows) {
    this.#rows = rows
  }

  ended(id: string, state: 'lost' | 'failed'): void {
    this.#ends.set(id, state)
    try {
      this.write()
    } catch {
      // As on a full disk: the next call writes it, and this one says what it came to.
    }
  }

  write(): void {
    for (const [id, state] of this.#ends) {
      this.#rows.mark(id, state)
      this.#ends.delete(id)
    }
  }
}
