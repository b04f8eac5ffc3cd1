import {
  type CallToolResult,
  type jsonSchemaValidator,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server'
import { questionsInARow } from '#toolkit/bounds.ts'
import { listingMs, questionMs } from './bounds.ts'
import { callTool, type Desk } from './call-tool.ts'
import { completeArgument } from './choices.ts'
import { getPrompt } from './get-prompt.ts'
import { instructionsFor } from './instructions.ts'
import { type Listing, onWire } from './listing.ts'
import { withOlderCodes } from './older-codes.ts'
import { inOurWords } from './our-words.ts'
import { readResource } from './resources.ts'
import { withTasks } from './tasks/extension.ts'
import { serveTasks } from './tasks/serve-tasks.ts'

export interface ServerName {
  name: string
  version: string
}

/** Of the protocol: `modern` from 2026-07 on. */
export type Era = 'legacy' | 'modern'

/** One server for one connection. The listing is sent as it is; nothing is loaded before the first call. */
export function makeServer({ name, version }: ServerName, listing: Listing, desk: Desk, era: Era): Server {
  const has = { ...capabilitiesOf(listing), ...(era === 'modern' ? withTasks : {}) }
  const server = new Server(
    { name, version },
    {
      capabilities: has,
      instructions: instructionsFor(listing.tools),
      cacheHints: {
        'server/discover': listingHint,
        'tools/list': listingHint,
        'prompts/list': listingHint,
        'resources/list': listingHint,
        'resources/templates/list': listingHint,
      },
      requestState: { verify: desk.states.verify },
      // One more than are asked, so that the last answer is not lost to the count.
      inputRequired: { maxRounds: questionsInARow + 1, roundTimeoutMs: questionMs },
      jsonSchemaValidator: noValidator,
    },
  )
  serveTools(server, listing, desk)
  if (era === 'modern') serveTasks(server, desk)
  if (has.prompts) servePrompts(server, listing, desk)
  if (has.resources) serveResources(server, listing, desk)
  if (has.completions) {
    server.setRequestHandler('completion/complete', ({ params }, { mcpReq: { signal } }) =>
      inOurWords(desk, { where: 'completion/complete', signal }, () => completeArgument(desk, listing, params)),
    )
  }
  return era === 'legacy' ? withOlderCodes(server) : server
}

const listingHint = { ttlMs: listingMs, cacheScope: 'public' as const }

function capabilitiesOf({ prompts, resources, resourceTemplates }: Listing) {
  const hasResources = resources.length + resourceTemplates.length > 0
  return {
    tools: {},
    ...(prompts.length > 0 ? { prompts: {} } : {}),
    ...(hasResources ? { resources: {} } : {}),
    ...(prompts.length + resourceTemplates.length > 0 ? { completions: {} } : {}),
  }
}

function serveTools(server: Server, { tools }: Listing, desk: Desk): void {
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(onWire) }))
  server.setRequestHandler('tools/call', ({ params }, context) => {
    if (!tools.some(tool => tool.name === params.name)) throw unknown('tool', tools)
    const declared = server.getClientCapabilities()
    const call = { name: params.name, given: params.arguments ?? {}, declared, context }
    // The SDK sends an extension's results as they are, and has no type for them.
    return desk.calls.track(callTool(desk, call)) as Promise<CallToolResult>
  })
}

function servePrompts(server: Server, { prompts }: Listing, desk: Desk): void {
  server.setRequestHandler('prompts/list', () => ({ prompts: prompts.map(onWire) }))
  server.setRequestHandler('prompts/get', ({ params }, context) => {
    const listed = prompts.find(prompt => prompt.name === params.name)
    if (!listed) throw unknown('prompt', prompts)
    const declared = server.getClientCapabilities()
    const { signal } = context.mcpReq
    return inOurWords(desk, { where: listed.name, signal }, () =>
      getPrompt(desk.catalogue, listed, { given: params.arguments ?? {}, declared, context }),
    )
  })
}

function serveResources(server: Server, listing: Listing, desk: Desk): void {
  server.setRequestHandler('resources/list', () => ({ resources: listing.resources.map(onWire) }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: listing.resourceTemplates.map(onWire),
  }))
  server.setRequestHandler('resources/read', ({ params }, context) =>
    desk.calls.track(readResource(desk, listing, params.uri, context)),
  )
}

const unknown = (what: string, listed: readonly { name: string }[]): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no such ${what}; ${listed.map(({ name }) => name).join(', ')} are here`,
  )

/** Answers are checked by our own schemas, so the SDK's validator is never asked and need not be built at start. */
const noValidator: jsonSchemaValidator = {
  getValidator() {
    throw new Error('No JSON Schema is checked here.')
  },
}
