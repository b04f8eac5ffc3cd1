/** How long somebody waits for what others do. */
interface Patience {
  /** Nobody waits any more once it is aborted. */
  signal: AbortSignal
  /** No end by itself where absent. */
  timeoutMs?: number
}

/**
 * The same result, or a rejection once the patience is over: an engine that never answers, and hears nothing of an abort,
 * must keep neither credit nor a caller nor a service that stops.
 */
export function boundedWait<Value>(work: Promise<Value>, { signal, timeoutMs }: Patience): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    const late = () => reject(new Error(`There was no answer within ${timeoutMs} ms.`))
    const timer = timeoutMs === undefined ? null : setTimeout(late, timeoutMs).unref()
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => {
      if (timer) clearTimeout(timer)
      signal.removeEventListener('abort', leave)
    })
  })
}
