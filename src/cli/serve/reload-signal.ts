/** Runs at each SIGHUP, one after the other, until the result is called; systems without that signal have no reload. */
export function onReloadSignal(run: () => Promise<void>): () => void {
  let last = Promise.resolve()
  const reload = () => {
    last = last.then(run)
  }
  process.on('SIGHUP', reload)
  return () => void process.off('SIGHUP', reload)
}
