import { createHash } from 'node:crypto'
import { listing as ownListing } from '../listing.generated.ts'
import { chooseTools, type Listing, onWire } from '../listing.ts'

/** The lists as a client sees them. */
export type WireListing = { [List in keyof Listing]: Omit<Listing[List][number], 'set' | 'isDefault' | 'needs'>[] }

/** The listing as a client sees it, and its SHA-256, by which a changed description is noticed. */
export function printTools(names?: readonly string[]): { listing: WireListing; sha256: string } {
  const { tools, prompts, resources, resourceTemplates } = chooseTools(ownListing, names)
  const listing = {
    tools: tools.map(onWire),
    prompts: prompts.map(onWire),
    resources: resources.map(onWire),
    resourceTemplates: resourceTemplates.map(onWire),
  }
  return { listing, sha256: createHash('sha256').update(JSON.stringify(listing)).digest('hex') }
}
