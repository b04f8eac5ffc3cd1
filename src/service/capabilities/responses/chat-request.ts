import { invalidRequest } from '#contract/errors/errors.ts'
import { describeIssues, fieldError } from '#contract/errors/issues.ts'
import { type ChatCompletionRequest, ChatCompletionRequest as ChatSchema } from '#contract/operations/chat.ts'
import type { ResponsesRequest } from '#contract/operations/responses.ts'
import { chatMessages } from './chat-messages.ts'

/** Members that have another form in a chat, or that a chat of one answer does not have. */
const translated: ReadonlySet<string> = new Set([
  'input',
  'instructions',
  'max_output_tokens',
  'reasoning',
  'tools',
  'tool_choice',
  'text',
  'web_search',
  'service_parameters',
  'stream',
  'n',
  'messages',
])

/** What only a service that keeps conversations could do. */
const stateful = ['previous_response_id', 'conversation', 'prompt'] as const

/** The same as a chat. Whatever else a request has is handed on. Throws `invalidRequest`. */
export function chatRequest(request: ResponsesRequest): ChatCompletionRequest {
  for (const name of stateful) {
    const value = request[name]
    if (value !== undefined && value !== null) {
      throw fieldError([name], 'This service keeps nothing between requests; send the whole conversation as input')
    }
  }
  if (request.background === true) throw fieldError(['background'], 'This service answers at once; leave it out')
  const rest = Object.fromEntries(Object.entries(request).filter(([name]) => !translated.has(name)))
  const chat = {
    ...rest,
    messages: chatMessages(request),
    ...(request.max_output_tokens ? { max_completion_tokens: request.max_output_tokens } : {}),
    ...reasoningOf(request),
    ...toolsOf(request),
    ...textOf(request),
    service_parameters: parametersOf(request),
    // The last event of an answer tells its usage.
    ...(request.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  }
  const read = ChatSchema.safeParse(chat)
  if (!read.success) throw invalidRequest(describeIssues(read.error, chat))
  return read.data
}

function reasoningOf({ reasoning }: ResponsesRequest) {
  if (!reasoning) return {}
  const { effort, summary } = reasoning
  const asked = { ...(effort ? { effort } : {}), ...(summary ? { summary } : {}) }
  return { reasoning: asked, ...(effort ? { reasoning_effort: effort } : {}) }
}

/** Tools of OpenAI's that run on its side are refused by their names, but for searches: the service's own, and the model's. */
function toolsOf({ tools, tool_choice: choice }: ResponsesRequest) {
  const taken = (tools ?? []).map((tool, index) => {
    const { type, ...flat } = tool
    if (/^web_search/.test(type)) return { type: 'web_search' }
    if (type === 'x_search') return { type }
    if (type !== 'function') {
      throw fieldError(
        ['tools', index, 'type'],
        `${type} is not available; allowed values: function, web_search, x_search`,
      )
    }
    const called = tool.function ?? flat
    if (!called.name) throw fieldError(['tools', index, 'name'], 'A function needs a name')
    return { type, function: called }
  })
  if (!choice) return taken.length ? { tools: taken } : {}
  if (typeof choice === 'string') return { tools: taken, tool_choice: choice }
  const name = choice.function?.name ?? choice.name
  if (!name) throw fieldError(['tool_choice', 'name'], 'Say which function')
  return { tools: taken, tool_choice: { type: 'function', function: { name } } }
}

/** OpenAI's clients write a schema beside its name; a chat has it one level deeper. */
function textOf({ text }: ResponsesRequest) {
  if (!text) return {}
  const { format, ...rest } = text
  const kept = Object.keys(rest).length ? { text: rest } : {}
  if (!format) return kept
  const { type, ...schema } = format
  return { ...kept, response_format: type === 'json_schema' ? { type, json_schema: schema } : { type } }
}

function parametersOf({ service_parameters: given, web_search: searches }: ResponsesRequest) {
  const { return_search_results_as_documents: _documents, ...parameters } = given ?? {}
  const search = searches ? { enable_web_search: 'on' as const } : {}
  // What was found is an item of the answer, and so has to be in the stream.
  return { ...search, ...parameters, include_search_results_in_stream: true }
}
