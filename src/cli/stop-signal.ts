/** A second signal within this time is the same key press, seen by the terminal's group and passed on by a launcher. */
const SAME_PRESS_MS = 1_000

/** How often an orphan looks for its parent; a question to the system that costs nothing. */
const PARENT_EVERY_MS = 500

/**
 * Aborts at the first SIGINT or SIGTERM and leaves the work of stopping to the command; a later one ends the process at once.
 * `endsWithParent` takes the parent's end for a signal: npm puts a shell between that dies of one without passing it on.
 */
export function stopSignal({ endsWithParent = false } = {}): AbortSignal {
  const controller = new AbortController()
  let firstAtMs: number | undefined
  const stop = (signal: NodeJS.Signals) => {
    const nowMs = performance.now()
    firstAtMs ??= nowMs
    if (!controller.signal.aborted) return controller.abort(signal)
    if (nowMs - firstAtMs > SAME_PRESS_MS) process.exit(1)
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  if (endsWithParent) whenParentEnds(() => controller.abort('SIGTERM'))
  return controller.signal
}

function whenParentEnds(stop: () => void): void {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, PARENT_EVERY_MS)
  watch.unref()
}
