/** It came too late, or was more than we take. */
export type OwnBound = 'time' | 'size'

const cut = new WeakMap<Error, OwnBound>()

/**
 * Notes of an error that a limit of ours has caused: the engine may have been at work until then, for longer or for more
 * than we take. Callers choose such answers, so whoever sells them charges for what was made, as for a caller who left.
 */
export function cutByUs<Thrown extends Error>(error: Thrown, bound: OwnBound = 'time'): Thrown {
  cut.set(error, bound)
  return error
}

/** Which limit of ours it was; null where the engine failed by itself. */
export const ownBoundOf = (error: unknown): OwnBound | null =>
  error instanceof Error ? (cut.get(error) ?? null) : null
