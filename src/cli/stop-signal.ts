/** A second signal within this time is the same key press, seen by the terminal's group and passed on by a launcher. */
const SAME_PRESS_MS = 1_000

/** Aborts at the first SIGINT or SIGTERM and leaves the work of stopping to the command; a later one ends the process at once. */
export function stopSignal(): AbortSignal {
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
  return controller.signal
}
