/** JavaScript's part of the memory of a media process: tables of a file's samples, of which a long film has a million. */
export const heapMb = 384

/** A media process that had nothing to do for so long is ended: it holds some 100 MB, and another starts in 0.1 s. */
export const idleMs = 30_000
