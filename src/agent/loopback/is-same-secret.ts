import { createHash, timingSafeEqual } from 'node:crypto'

/** Over hashes, so that neither a length nor a beginning can be told from the time. */
export const isSameSecret = (one: string, other: string): boolean => timingSafeEqual(hashOf(one), hashOf(other))

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()
