/** Holds back what waits for it until it is opened. */
export function gate() {
  let open = () => {}
  let arrive = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  const reached = new Promise<void>(resolve => {
    arrive = resolve
  })
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
