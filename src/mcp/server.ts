import {
  type GetPromptResult,
  type jsonSchemaValidator,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server'
import { sayRefusedArguments } from '#toolkit/refused-arguments.ts'
import { listingMs, questionMs, questionsInARow } from './bounds.ts'
import { callTool, type Desk } from './call-tool.ts'
import { instructions } from './instructions.ts'
import type { Listing } from './listing.ts'

export interface ServerName {
  name: string
  version: string
}

/** One server for one connection. The listing is sent as it is; nothing is loaded before the first call. */
export function makeServer({ name, version }: ServerName, listing: Listing, desk: Desk): Server {
  const { tools, prompts } = listing
  const listingHint = { ttlMs: listingMs, cacheScope: 'public' as const }
  const server = new Server(
    { name, version },
    {
      capabilities: { tools: {}, ...(prompts.length > 0 ? { prompts: {} } : {}) },
      instructions,
      cacheHints: { 'tools/list': listingHint, 'prompts/list': listingHint },
      requestState: { verify: desk.states.verify },
      // One more than are asked, so that the last answer is not lost to the count.
      inputRequired: { maxRounds: questionsInARow + 1, roundTimeoutMs: questionMs },
      jsonSchemaValidator: noValidator,
    },
  )
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(tool => ({ ...tool })) }))
  server.setRequestHandler('tools/call', ({ params }, context) => {
    if (!tools.some(tool => tool.name === params.name)) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no such tool; ${names(tools)} are here`)
    }
    const declared = server.getClientCapabilities()
    return desk.calls.track(callTool(desk, { name: params.name, given: params.arguments ?? {}, declared, context }))
  })
  if (prompts.length > 0) {
    server.setRequestHandler('prompts/list', () => ({ prompts: prompts.map(prompt => ({ ...prompt })) }))
    server.setRequestHandler('prompts/get', ({ params }) => {
      if (!prompts.some(prompt => prompt.name === params.name)) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no such prompt; ${names(prompts)} are here`)
      }
      return getPrompt(desk, params.name, params.arguments ?? {})
    })
  }
  return server
}

async function getPrompt({ catalogue }: Desk, name: string, given: Record<string, string>): Promise<GetPromptResult> {
  const prompt = await catalogue.prompts[name]?.()
  if (!prompt) throw new Error(`The listing has ${name}, the catalogue has not.`)
  const parsed = prompt.arguments.safeParse(given)
  if (!parsed.success) {
    const wrong = sayRefusedArguments(prompt.arguments, given, parsed.error.issues)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The arguments of ${name} are not right: ${wrong}`)
  }
  const text = prompt.write(parsed.data)
  return { description: prompt.description, messages: [{ role: 'user', content: { type: 'text', text } }] }
}

const names = (listed: readonly { name: string }[]): string => listed.map(({ name }) => name).join(', ')

/** Answers are checked by our own schemas, so the SDK's validator is never asked and need not be built at start. */
const noValidator: jsonSchemaValidator = {
  getValidator() {
    throw new Error('No JSON Schema is checked here.')
  },
}
