/** Stops waiting when nobody wants the result any more; what was bought is kept for the next same call. */
export async function whileWanted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
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
    // The work may fail after its caller has gone.
    work.catch(() => {})
    if (stop) signal.removeEventListener('abort', stop)
  }
}
