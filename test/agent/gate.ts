/** Holds its waiters until it is opened. */
export function gate() {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>()
  return {
    open: () => open(),
    /** When the first has come to it. */
    reached,
    get passed() {
      arrive()
      return opened
    },
  }
}
