import { createHash } from 'node:crypto'
import { type ToolAnnotations, type ToolSet, toolSets } from '#toolkit/define.ts'
import { listing as ownListing } from './listing.generated.ts'

/**
 * A tool as `tools/list` returns it, with JSON Schemas ready to send, plus the fields that decide whether it is served.
 */
export interface ListedTool {
  name: string
  set: ToolSet
  isDefault: boolean
  title: string
  description: string
  inputSchema: ObjectSchema
  outputSchema: ObjectSchema
  annotations: ToolAnnotations
  /** Of the MCP Apps extension: the view of its results. */
  _meta?: { ui: { resourceUri: string } }
}

/** Prompts and resources that need tools, and are offered only if all of those are served. */
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
  _meta?: Readonly<Record<string, unknown>>
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

/** Returns a row without the internal fields that decide about it. */
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

/** The default selection, and everything. */
const everySet = ['default', 'all'] as const

/**
 * Returns the part of a listing that these names of tools or sets select, in the listing's order; the default tools if
 * absent. A set selects its default tools. A prompt or resource is included if the tools that it needs are. Throws for
 * an unknown name.
 */
export function chooseTools(listing: Listing, words: readonly string[] = ['default']): Listing {
  const known = new Set<string>([...everySet, ...toolSets, ...listing.tools.map(({ name }) => name)])
  const unknown = words.find(word => !known.has(word))
  if (unknown !== undefined) {
    throw new Error(
      `\`${unknown}\` is neither a tool nor a set; the sets are ${[...toolSets, ...everySet].join(', ')}; the tools are ${listing.tools.map(({ name }) => name).join(', ')}.`,
    )
  }
  const chosen = new Set(words)
  const tools = listing.tools.filter(tool => isChosen(tool, chosen))
  const names = new Set(tools.map(({ name }) => name))
  const isOffered = ({ needs }: { needs: readonly string[] }) => needs.every(name => names.has(name))
  const isUsed = ({ uri }: ListedResource) => tools.some(tool => tool._meta?.ui.resourceUri === uri)
  return {
    tools,
    prompts: listing.prompts.filter(isOffered),
    resources: listing.resources.filter(resource => isOffered(resource) && (!isApp(resource) || isUsed(resource))),
    resourceTemplates: listing.resourceTemplates.filter(isOffered),
  }
}

/** Views come with the tools whose results they show. */
const isApp = ({ uri }: ListedResource): boolean => uri.startsWith('ui://')

const isChosen = ({ name, set, isDefault }: ListedTool, chosen: ReadonlySet<string>): boolean =>
  chosen.has(name) || chosen.has('all') || (isDefault && (chosen.has('default') || chosen.has(set)))

/** The lists as clients see them. */
export type WireListing = { [List in keyof Listing]: Omit<Listing[List][number], 'set' | 'isDefault' | 'needs'>[] }

/** Returns the listing as clients see it, and its SHA-256, by which a changed description is noticed. */
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
