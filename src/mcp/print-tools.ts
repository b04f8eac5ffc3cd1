import { createHash } from 'node:crypto'
import { listing } from './listing.generated.ts'
import { chooseTools, type Listing } from './listing.ts'

/** The listing as a client sees it, and its SHA-256, by which a changed description is noticed. */
export function printTools(names?: readonly string[]): { listing: Listing; sha256: string } {
  const chosen = chooseTools(listing, names)
  return { listing: chosen, sha256: createHash('sha256').update(JSON.stringify(chosen)).digest('hex') }
}
