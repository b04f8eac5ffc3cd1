import { createHash } from 'node:crypto'
import { type ToolAnnotations, type ToolSet, toolSets } from '#toolkit/define.ts'
import { listing as ownListing } from './listing.generated.ts'

/** A tool as `tools/list` answers it, JSON Schemas ready to send, beside what decides whether it is served. */
export interface ListedTool {
  name: string
  set: ToolSet
  isDefault: boolean
  title: string
  description: string
  inputSchema: ObjectSchema
  outputSchema: ObjectSchema
  annotations: ToolAnnotations
}

/** What leads through tools or shows their data, and is offered only with all of them. */
interface Needing {
  needs: readonly string[]
}

export interface ListedPrompt extends Needing {
  name: string
  title: string
  description: string
  arguments: { name: string; description?: string; required?: boolean }[]
}

export interface ListedResource extends Needing {
  name: string
  title: string
  description: string
  uri: string
  mimeType?: string
}

export interface ListedTemplate extends Omit<ListedResource, 'uri'> {
  uriTemplate: string
  readsLinks?: 'file:'
}

export interface ObjectSchema {
  type: 'object'
  [keyword: string]: unknown
}

export interface Listing {
  tools: readonly ListedTool[]
  prompts: readonly ListedPrompt[]
  resources: readonly ListedResource[]
  resourceTemplates: readonly ListedTemplate[]
}

/** A row as it is sent: without what decides about it here. */
export function onWire<Row extends object>(row: Row): Omit<Row, Inner> {
  const {
    set: _s,
    isDefault: _d,
    needs: _n,
    readsLinks: _r,
    ...wire
  } = row as Row & Partial<ListedTool & ListedTemplate>
  return wire as Omit<Row, Inner>
}

type Inner = 'set' | 'isDefault' | 'needs' | 'readsLinks'

/** All that is served unless told, and all that there is. */
const everySet = ['default', 'all'] as const

/**
 * What of a listing is served for these words, names of tools or of sets, in the listing's own order; the default tools where
 * they are absent. A set has its default tools. Prompts and resources come with the tools that they need. Throws at an
 * unknown word.
 */
export function chooseTools(listing: Listing, words: readonly string[] = ['default']): Listing {
  const known = new Set<string>([...everySet, ...toolSets, ...listing.tools.map(({ name }) => name)])
  const unknown = words.find(word => !known.has(word))
  if (unknown !== undefined) {
    throw new Error(
      `\`${unknown}\` is neither a tool nor a set; the sets are ${[...toolSets, ...everySet].join(', ')}, the tools ${listing.tools.map(({ name }) => name).join(', ')}.`,
    )
  }
  const chosen = new Set(words)
  const tools = listing.tools.filter(tool => isChosen(tool, chosen))
  const names = new Set(tools.map(({ name }) => name))
  const isOffered = ({ needs }: { needs: readonly string[] }) => needs.every(name => names.has(name))
  return {
    tools,
    prompts: listing.prompts.filter(isOffered),
    resources: listing.resources.filter(isOffered),
    resourceTemplates: listing.resourceTemplates.filter(isOffered),
  }
}

const isChosen = ({ name, set, isDefault }: ListedTool, chosen: ReadonlySet<string>): boolean =>
  chosen.has(name) || chosen.has('all') || (isDefault && (chosen.has('default') || chosen.has(set)))

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
