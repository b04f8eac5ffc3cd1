/** What is going on, so that what it may still use is ended only after it. */
export class Underway {
  readonly #open = new Set<PromiseWithResolvers<void>>()

  /** Something begins; the result says that it is over. */
  begin(): () => void {
    const over = Promise.withResolvers<void>()
    this.#open.add(over)
    return () => {
      this.#open.delete(over)
      over.resolve()
    }
  }

  /** Resolves when all that has begun before this is over, whatever begins meanwhile. */
  async former(): Promise<void> {
    await Promise.all([...this.#open].map(({ promise }) => promise))
  }
}
