import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequest,
  type InputRequiredResult,
  inputRequired,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { type AskedState, argumentsHash } from '#mcp/context.ts'

export type Answer = CallToolResult | InputRequiredResult
export type DeprecatedTool = (context: ServerContext) => Answer | Promise<Answer>

const done = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })

const capital: InputRequest = inputRequired.createMessage({
  messages: [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }],
  maxTokens: 100,
})

const userName: InputRequest = inputRequired.elicit({
  message: 'What is your name?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
})

/** Ends once the client has sent an answer of each name. */
const asking =
  (inputRequests: Record<string, InputRequest>, requestState?: (context: ServerContext) => Promise<string>) =>
  async (context: ServerContext): Promise<Answer> => {
    const answers: Readonly<Record<string, unknown>> = context.mcpReq.inputResponses ?? {}
    if (Object.keys(inputRequests).every(name => answers[name] !== undefined)) return done('Everything was answered.')
    return inputRequired({ inputRequests, ...(requestState ? { requestState: await requestState(context) } : {}) })
  }

function whatIsDeclared(context: ServerContext): Answer | Promise<Answer> {
  const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {}
  const can = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined
  return asking({
    ...(can?.elicitation ? { user_name: userName } : {}),
    ...(can?.sampling ? { greeting: capital } : {}),
    ...(can?.roots ? { client_roots: inputRequired.listRoots() } : {}),
  })(context)
}

async function logsThrice(context: ServerContext): Promise<Answer> {
  for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    await context.mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } })
  }
  return done('It was logged three times.')
}

/** Sampling, roots and logging are deprecated since 2026-07, so no tool of ours has them; these are for the suite alone. */
export function deprecatedTools(states: RequestStateCodec<AskedState>): Readonly<Record<string, DeprecatedTool>> {
  const several = 'test_input_required_result_multiple_inputs'
  const state = (context: ServerContext) =>
    states.mint({ tool: several, argumentsHash: argumentsHash({}), decides: null, round: 1, askedAtMs: 0 }, context)
  return {
    test_sampling: asking({ answer: capital }),
    test_missing_capability: asking({ answer: capital }),
    test_input_required_result_sampling: asking({ capital_question: capital }),
    test_input_required_result_list_roots: asking({ client_roots: inputRequired.listRoots() }),
    [several]: asking({ user_name: userName, greeting: capital, client_roots: inputRequired.listRoots() }, state),
    test_input_required_result_capabilities: whatIsDeclared,
    test_tool_with_logging: logsThrice,
    async test_logging_tool(context) {
      await context.mcpReq.log('info', 'Only for clients that asked for a level.')
      return done('It was logged.')
    },
  }
}
