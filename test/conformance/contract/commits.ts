import type { Store } from '#ledger/store/store.ts'

/** Tells when something has been written, so that who waits for it looks again then, and not by the time of day. */
export class Commits {
  #next = Promise.withResolvers<void>()

  next(): Promise<void> {
    return this.#next.promise
  }

  /** The same store, whose commits are told once they are durable. */
  told(store: Store): Store {
    return {
      read: store.read,
      soleOwner: store.soleOwner,
      prune: (slice, rows) => store.prune(slice, rows),
      close: () => store.close(),
      commit: async units => {
        try {
          return await store.commit(units)
        } finally {
          this.#next.resolve()
          this.#next = Promise.withResolvers()
        }
      },
    }
  }
}
