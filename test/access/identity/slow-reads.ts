import type { Store } from '#ledger/store/store.ts'

/** The same store, whose reads return their result only after `before` has run. */
export const withSlowReads = (store: Store, before: () => Promise<unknown>): Store => ({
  commit: units => store.commit(units),
  soleOwner: store.soleOwner,
  prune: (slice, rows) => store.prune(slice, rows),
  close: () => store.close(),
  read: store.read.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      await before()
      return result
    },
  }),
})
