import { type ReadResourceResult, ResourceNotFoundError, type ServerContext } from '@modelcontextprotocol/server'
import type { Resource, ResourceContent } from '#toolkit/define.ts'
import { progressOf } from '../calls/progress.ts'
import type { McpContext } from '../context.ts'
import { inOurWords } from '../faults.ts'
import type { Listing } from '../listing.ts'

/** Reads a listed resource, or one of a listed template. What goes wrong is a protocol error in our words. */
export async function readResource(
  mcp: McpContext,
  listing: Listing,
  uri: string,
  context: ServerContext,
): Promise<ReadResourceResult> {
  const found = findResource(listing, uri)
  if (!found) throw nothingThere(uri, listing)
  return inOurWords(mcp, { where: found.name, signal: context.mcpReq.signal }, async () => {
    const resource = await mcp.catalogue.resources[found.name]?.()
    if (!resource) throw new Error(`The listing has ${found.name}, the catalogue has not.`)
    const content = await readContent(mcp, resource, found.value, context)
    if (!content) throw nothingThere(uri, listing)
    return {
      contents: [{ uri, ...asContents(resource, content) }],
      // Older protocols know no lifetimes.
      ...(context.mcpReq.envelope ? { ttlMs: resource.keepMs, cacheScope: 'private' as const } : {}),
    }
  })
}

async function readContent(mcp: McpContext, resource: Resource, value: string, context: ServerContext) {
  const progress = progressOf(context, mcp.clock)
  try {
    const host = await mcp.host()
    return await resource.read(host.context({ signal: context.mcpReq.signal, report: progress.report }), value)
  } finally {
    progress.end()
  }
}

const asContents = ({ mimeType }: Resource, content: ResourceContent) =>
  'text' in content
    ? { text: content.text, ...(mimeType ? { mimeType } : {}) }
    : { blob: content.base64, mimeType: content.mimeType }

function nothingThere(uri: string, { resources, resourceTemplates }: Listing): ResourceNotFoundError {
  const known = [...resources.map(resource => resource.uri), ...resourceTemplates.map(({ uriTemplate }) => uriTemplate)]
  return new ResourceNotFoundError(uri, `Nothing is there; resources are ${known.join(', ')}`)
}

interface FoundResource {
  /** In the catalogue. */
  name: string
  /** What stands for the template's variable; empty for a fixed address. */
  value: string
}

/** The resource of an address; fixed ones come before templates. Undefined where nothing of the listing has it. */
function findResource({ resources, resourceTemplates }: Listing, uri: string): FoundResource | undefined {
  const fixed = resources.find(resource => resource.uri === uri)
  if (fixed) return { name: fixed.name, value: '' }
  for (const { name, uriTemplate } of resourceTemplates) {
    const value = valueIn(uriTemplate, uri)
    if (value !== undefined) return { name, value }
  }
  const linked = resourceTemplates.find(({ readsLinks }) => readsLinks && uri.startsWith(readsLinks))
  return linked && { name: linked.name, value: uri }
}

/** What an address has for the one variable of a template; undefined where it is not of it. Ids of models may have slashes. */
export function valueIn(uriTemplate: string, uri: string): string | undefined {
  const [before = '', after = ''] = uriTemplate.split(/\{[^}]*\}/)
  if (uri.length <= before.length + after.length || !uri.startsWith(before) || !uri.endsWith(after)) return undefined
  try {
    return decodeURIComponent(uri.slice(before.length, uri.length - after.length))
  } catch {
    return undefined
  }
}
