interface Closing {
  close?(): Promise<void>
}

/** Engines by their names, each for as long as a model uses it: an unchanged one goes on over a reload. */
export class KeptEngines {
  readonly #kept = new Map<string, { engine: unknown; uses: number }>()

  /** The one of this name, made where there is none. Each call is a use of it. */
  keep<Engine>(name: string, make: () => Engine): Engine {
    const kept = this.#kept.get(name) ?? { engine: make(), uses: 0 }
    kept.uses++
    this.#kept.set(name, kept)
    return kept.engine as Engine
  }

  /** One use of it is over; it is ended with the last. */
  async drop(name: string): Promise<void> {
    const kept = this.#kept.get(name)
    if (!kept || --kept.uses > 0) return
    this.#kept.delete(name)
    await (kept.engine as Closing).close?.()
  }

  /** Ends all that is left. Throws the first error, after every end. */
  async close(): Promise<void> {
    const left = [...this.#kept.values()]
    this.#kept.clear()
    const ends = await Promise.allSettled(left.map(async ({ engine }) => (engine as Closing).close?.()))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }
}
