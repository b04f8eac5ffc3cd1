/** Calls of one upstream since the service began. They outlive a reload, because figures that fall look like a restart. */
export class UpstreamCounts {
  calls = 0
  /** By the kind of the error; a bounded set of words. */
  readonly failures: Record<string, number> = {}

  failed(word: string): void {
    this.failures[word] = (this.failures[word] ?? 0) + 1
  }
}
