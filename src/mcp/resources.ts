import { type ReadResourceResult, ResourceNotFoundError, type ServerContext } from '@modelcontextprotocol/server'
import type { Resource, ResourceContent } from '#toolkit/define.ts'
import type { Desk } from './call-tool.ts'
import type { Listing } from './listing.ts'
import { inOurWords } from './our-words.ts'
import { progressOf } from './progress.ts'
import { findResource } from './resource-address.ts'

/** Reads a listed resource, or one of a listed template. What goes wrong is a protocol error in our words. */
export async function readResource(
  desk: Desk,
  listing: Listing,
  uri: string,
  context: ServerContext,
): Promise<ReadResourceResult> {
  const found = findResource(listing, uri)
  if (!found) throw nothingThere(uri, listing)
  return inOurWords(desk, { where: found.name, signal: context.mcpReq.signal }, async () => {
    const resource = await desk.catalogue.resources[found.name]?.()
    if (!resource) throw new Error(`The listing has ${found.name}, the catalogue has not.`)
    const content = await readContent(desk, resource, found.value, context)
    if (!content) throw nothingThere(uri, listing)
    return {
      contents: [{ uri, ...asContents(resource, content) }],
      // Older protocols know no lifetimes.
      ...(context.mcpReq.envelope ? { ttlMs: resource.keepMs, cacheScope: 'private' as const } : {}),
    }
  })
}

async function readContent(desk: Desk, resource: Resource, value: string, context: ServerContext) {
  const progress = progressOf(context, desk.clock)
  try {
    const host = await desk.host()
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
