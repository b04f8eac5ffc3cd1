import { createHash } from 'node:crypto'

/** What happened, in order. The hash of it all says whether two runs were the same. */
export class Trace {
  readonly #hash = createHash('sha256')
  /** Some five lines a step: the longest run that is allowed has a few megabytes of them. */
  readonly lines: string[] = []

  tell(line: string): void {
    this.#hash.update(line).update('\n')
    this.lines.push(line)
  }

  digest(): string {
    return this.#hash.copy().digest('hex')
  }
}
