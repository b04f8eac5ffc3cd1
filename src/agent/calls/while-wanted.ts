/** Stops waiting when nobody wants the result any more; what was bought is kept for the next same call. */
export async function whileWanted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  // The work may fail after its caller has gone, or before it has come.
  work.catch(() => {})
  signal.throwIfAborted()
  let stop: (() => void) | undefined
  const unwanted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    const result = await Promise.race([work, unwanted])
    signal.throwIfAborted()
    return result
  } finally {
    if (stop) signal.removeEventListener('abort', stop)
  }
}
