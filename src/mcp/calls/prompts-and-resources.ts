import {
  type ClientCapabilities,
  type CompleteRequest,
  type GetPromptResult,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { z } from 'zod'
import type { Catalogue, Choices, FormField, Resource, ResourceContent, UserForm } from '#toolkit/define.ts'
import { sayRefusedArguments } from '#toolkit/run-tool.ts'
import type { ToolContext } from '#toolkit/tool-context.ts'
import { choicesMs, choicesShown } from '../bounds.ts'
import type { McpContext } from '../context.ts'
import { inOurWords, unlisted } from '../faults.ts'
import { type ListedPrompt, type Listing, onWire } from '../listing.ts'
import { canAsk, formAnswer, formRequest } from './elicitation.ts'

export function servePrompts(server: Server, { prompts }: Listing, mcp: McpContext): void {
  server.setRequestHandler('prompts/list', () => ({ prompts: prompts.map(onWire) }))
  server.setRequestHandler('prompts/get', ({ params }, context) => {
    const listed = prompts.find(prompt => prompt.name === params.name)
    if (!listed) throw unlisted('prompt', params.name, prompts)
    const declared = server.getClientCapabilities()
    const { signal } = context.mcpReq
    return inOurWords(mcp, { where: listed.name, signal }, () =>
      getPrompt(mcp.catalogue, listed, { given: params.arguments ?? {}, declared, context }),
    )
  })
}

export function serveResources(server: Server, listing: Listing, mcp: McpContext): void {
  server.setRequestHandler('resources/list', () => ({ resources: listing.resources.map(onWire) }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: listing.resourceTemplates.map(onWire),
  }))
  server.setRequestHandler('resources/read', ({ params }, context) =>
    mcp.calls.track(readResource(mcp, listing, params.uri, context)),
  )
}

export function serveCompletions(server: Server, listing: Listing, mcp: McpContext): void {
  server.setRequestHandler('completion/complete', ({ params }, { mcpReq: { signal } }) =>
    inOurWords(mcp, { where: 'completion/complete', signal }, () => completeArgument(mcp, listing, params)),
  )
}

interface PromptCall {
  given: Record<string, string>
  declared: ClientCapabilities | undefined
  context: ServerContext
}

/**
 * Writes a listed prompt. The user chose it, so the user is asked for missing arguments if the client can ask. Wrong
 * arguments are a protocol error that names them.
 */
async function getPrompt(
  { prompts }: Pick<Catalogue, 'prompts'>,
  listed: ListedPrompt,
  { given, declared, context }: PromptCall,
): Promise<GetPromptResult | InputRequiredResult> {
  const prompt = await prompts[listed.name]?.()
  if (!prompt) throw new Error(`The listing has ${listed.name}, but the catalogue does not.`)
  // Validate the given arguments before asking the user for the rest.
  checked(listed.name, prompt.arguments.partial(), given)
  const form = missing(listed, given)
  const answer = form && formAnswer(form, context)
  if (form && !answer && canAsk(context, declared)) return inputRequired({ inputRequests: formRequest(form) })
  const values = typeof answer === 'object' ? { ...given, ...answer } : given
  const parsed = checked(listed.name, prompt.arguments, values)
  const text = { type: 'text' as const, text: prompt.write(parsed) }
  const contents = [...(prompt.shows?.(parsed) ?? []), text]
  return { description: prompt.description, messages: contents.map(content => ({ role: 'user', content })) }
}

function checked<Arguments extends z.ZodObject>(name: string, schema: Arguments, values: unknown): z.output<Arguments> {
  const parsed = schema.safeParse(values)
  if (parsed.success) return parsed.data
  const wrong = sayRefusedArguments(schema, values, parsed.error.issues)
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid arguments for ${name}: ${wrong}`)
}

/** Returns a form for the prompt's missing required arguments; undefined if none are missing. */
function missing(listed: ListedPrompt, given: Record<string, string>): UserForm | undefined {
  const absent = listed.arguments.filter(({ name, required }) => required && given[name] === undefined)
  if (absent.length === 0) return undefined
  const fields: [string, FormField][] = absent.map(({ name, description }) => [
    name,
    { type: 'string', ...(description ? { description } : {}) },
  ])
  return {
    name: listed.name,
    message: `${listed.title}: ${listed.description}`,
    fields: Object.fromEntries(fields),
    required: absent.map(({ name }) => name),
  }
}

/** Reads a listed resource, or one that matches a listed template. Failures are protocol errors in our own words. */
async function readResource(
  mcp: McpContext,
  listing: Listing,
  uri: string,
  context: ServerContext,
): Promise<ReadResourceResult> {
  const found = findResource(listing, uri)
  if (!found) throw nothingThere(uri, listing)
  return inOurWords(mcp, { where: found.name, signal: context.mcpReq.signal }, async () => {
    const resource = await mcp.catalogue.resources[found.name]?.()
    if (!resource) throw new Error(`The listing has ${found.name}, but the catalogue does not.`)
    const content = await readContent(mcp, resource, found.value, context)
    if (!content) throw nothingThere(uri, listing)
    return {
      contents: [{ uri, ...asContents(resource, content) }],
      // Older protocols have no cache lifetimes.
      ...(context.mcpReq.envelope ? { ttlMs: resource.keepMs, cacheScope: 'private' as const } : {}),
    }
  })
}

async function readContent(mcp: McpContext, resource: Resource, value: string, context: ServerContext) {
  if (resource.constant) return resource.constant()
  const progress = mcp.progress.of(context)
  try {
    const host = await mcp.host()
    return await resource.read(host.context({ signal: context.mcpReq.signal, report: progress.report }), value)
  } finally {
    progress.end()
  }
}

const asContents = ({ mimeType, meta }: Resource, content: ResourceContent) => ({
  ...('text' in content
    ? { text: content.text, ...(mimeType ? { mimeType } : {}) }
    : { blob: content.base64, mimeType: content.mimeType }),
  ...(meta ? { _meta: { ...meta } } : {}),
})

function nothingThere(uri: string, { resources, resourceTemplates }: Listing): ResourceNotFoundError {
  const known = [...resources.map(resource => resource.uri), ...resourceTemplates.map(({ uriTemplate }) => uriTemplate)]
  return new ResourceNotFoundError(uri, `There is no such resource; the resources are ${known.join(', ')}`)
}

interface FoundResource {
  /** Its name in the catalogue. */
  name: string
  /** The value of the template's variable; empty for a fixed address. */
  value: string
}

/** Finds the resource at an address, fixed ones before templates. Undefined if the listing has none. */
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

/**
 * Returns the value of a template's one variable in an address; undefined if they do not match. Model ids may contain
 * slashes.
 */
export function valueIn(uriTemplate: string, uri: string): string | undefined {
  const [before = '', after = ''] = uriTemplate.split(/\{[^}]*\}/)
  if (uri.length <= before.length + after.length || !uri.startsWith(before) || !uri.endsWith(after)) return undefined
  try {
    return decodeURIComponent(uri.slice(before.length, uri.length - after.length))
  } catch {
    return undefined
  }
}

type Params = CompleteRequest['params']

/**
 * Returns the values that start with the typed text, then those that contain it. An unlisted reference is a protocol
 * error.
 */
async function completeArgument(mcp: McpContext, listing: Listing, { ref, argument }: Params) {
  const [key, choices] =
    ref.type === 'ref/prompt'
      ? await ofPrompt(mcp, listing, ref.name, argument.name)
      : await ofTemplate(mcp, listing, ref.uri)
  const values = typeof choices === 'function' ? await mcp.choices.get(key, () => look(mcp, choices)) : (choices ?? [])
  const typed = argument.value.toLowerCase()
  const fitting = values.filter(value => value.toLowerCase().includes(typed))
  const first = fitting.filter(value => value.toLowerCase().startsWith(typed))
  const ordered = [...first, ...fitting.filter(value => !first.includes(value))]
  return {
    completion: {
      values: ordered.slice(0, choicesShown),
      total: ordered.length,
      hasMore: ordered.length > choicesShown,
    },
  }
}

type Found = readonly [key: string, choices: Choices | undefined]

async function ofPrompt(
  { catalogue }: McpContext,
  { prompts }: Listing,
  name: string,
  argument: string,
): Promise<Found> {
  const listed = prompts.find(prompt => prompt.name === name)
  if (!listed?.arguments.some(one => one.name === argument)) throw unknown('argument of a prompt')
  const choices: Readonly<Record<string, Choices | undefined>> = (await catalogue.prompts[name]?.())?.choices ?? {}
  return [`prompt ${name} ${argument}`, choices[argument]]
}

async function ofTemplate({ catalogue }: McpContext, { resourceTemplates }: Listing, uri: string): Promise<Found> {
  const listed = resourceTemplates.find(({ uriTemplate }) => uriTemplate === uri)
  if (!listed) throw unknown('template')
  return [`resource ${listed.name}`, (await catalogue.resources[listed.name]?.())?.choices]
}

const unknown = (what: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no such ${what}; see the lists of prompts and templates`)

/** Runs as a call of its own that is not cancelled, because its values serve the next keystroke too. */
async function look(mcp: McpContext, choices: (context: ToolContext) => Promise<readonly string[]>) {
  const host = await mcp.host()
  return choices(host.context({ signal: AbortSignal.timeout(choicesMs), report: () => {} }))
}
