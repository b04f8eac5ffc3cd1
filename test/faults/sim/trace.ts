import { createHash } from 'node:crypto'

/** Lines that are printed with a failure: what led to it, and little of what came long before. */
const keptLines = 60

/** What happened, in order. The hash of it all says whether two runs were the same. */
export class Trace {
  readonly #hash = createHash('sha256')
  #last: string[] = []
  #lines = 0

  tell(line: string): void {
    this.#hash.update(line).update('\n')
    this.#lines++
    this.#last.push(line)
    if (this.#last.length > 2 * keptLines) this.#last = this.#last.slice(-keptLines)
  }

  get last(): readonly string[] {
    return this.#last.slice(-keptLines)
  }

  get lines(): number {
    return this.#lines
  }

  digest(): string {
    return this.#hash.copy().digest('hex')
  }
}
