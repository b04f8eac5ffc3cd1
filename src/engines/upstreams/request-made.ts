const made = new WeakSet<Error>()

/**
 * Notes of an error that is told as the upstream's own that a request may have caused it: some servers answer 403 to
 * content, 402 to a long answer that was asked for, and 404 to what a member names.
 */
export function mayBeRequests<Thrown extends Error>(error: Thrown): Thrown {
  made.add(error)
  return error
}

export const isMaybeRequests = (error: Error): boolean => made.has(error)
