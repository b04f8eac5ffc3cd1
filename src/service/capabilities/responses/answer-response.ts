import { invalidRequest } from '#contract/errors/errors.ts'
import { describeIssues, fieldError } from '#contract/errors/issues.ts'
import { type ChatCompletionRequest, ChatCompletionRequest as ChatSchema } from '#contract/operations/chat.ts'
import type { InputItem, InputPart, ResponsesRequest } from '#contract/operations/responses.ts'
import type { Call, Reply } from '../../http/route.ts'
import type { Service } from '../../http/service.ts'
import { planChat } from '../chat/chat-plan.ts'
import { completeChat } from '../chat/complete-chat.ts'
import { streamChat } from '../chat/stream-chat.ts'
import { type ChatEvent, ResponseEvents, responseOf } from './response-events.ts'

/** Runs a response as a chat: the same engine, charge and refusals. */
export async function answerResponse(call: Call, body: ResponsesRequest, service: Service): Promise<Reply> {
  const plan = await planChat(call, chatRequest(body), service)
  if (!body.stream) return completeChat(call, plan, service, responseOf)
  const responseEvents = new ResponseEvents()
  const keepStream: Call['keepStream'] = lastEvents =>
    call.keepStream(() => lastEvents().flatMap(event => responseEvents.end(event as ChatEvent)))
  const { events, brokenOff } = await streamChat({ ...call, keepStream }, plan, service)
  return {
    kind: 'events',
    events: translated(events, responseEvents),
    brokenOff: () => brokenOff().flatMap(event => responseEvents.end(event as ChatEvent)),
  }
}

/** A chat ends with usage or an error; a chat that ends with neither has failed. */
async function* translated(events: AsyncIterable<unknown>, responseEvents: ResponseEvents): AsyncGenerator<unknown> {
  let isOver = false
  for await (const event of events as AsyncIterable<ChatEvent>) {
    isOver = event.usage !== undefined || event.error !== undefined
    yield* isOver ? responseEvents.end(event) : responseEvents.push(event)
  }
  if (!isOver) yield* responseEvents.end({ error: { message: 'Inference processing failed', code: null } })
}

/** Members that have another form in a chat, or that a chat with one answer does not have. */
const translatedMembers: ReadonlySet<string> = new Set([
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

/** Members that only a service which stores conversations can support. */
const stateful = ['previous_response_id', 'conversation', 'prompt'] as const

/** Converts the request to a chat. Members that both APIs have are passed on. Throws `invalidRequest`. */
function chatRequest(request: ResponsesRequest): ChatCompletionRequest {
  for (const name of stateful) {
    const value = request[name]
    if (value !== undefined && value !== null) {
      throw fieldError([name], 'This service stores nothing between requests; send the whole conversation as input')
    }
  }
  if (request.background === true) throw fieldError(['background'], 'This service answers synchronously; leave it out')
  const rest = Object.fromEntries(Object.entries(request).filter(([name]) => !translatedMembers.has(name)))
  const chat = {
    ...rest,
    messages: chatMessages(request),
    ...(request.max_output_tokens ? { max_completion_tokens: request.max_output_tokens } : {}),
    ...reasoningOf(request),
    ...toolsOf(request),
    ...textOf(request),
    service_parameters: parametersOf(request),
    // The last event of an answer reports its usage.
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

/** Tools that run on OpenAI's side are refused by name, except searches: the service's own, and the model's. */
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
  if (!name) throw fieldError(['tool_choice', 'name'], 'Name the function')
  return { tools: taken, tool_choice: { type: 'function', function: { name } } }
}

/** OpenAI's clients write a schema next to its name; a chat nests it one level deeper. */
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
  // Search results are an item of the answer, so they must be in the stream.
  return { ...search, ...parameters, include_search_results_in_stream: true }
}

type Message = Record<string, unknown>

/** Converts a request's conversation to messages of a chat, instructions first. Throws `invalidRequest`. */
function chatMessages({ instructions, input }: Pick<ResponsesRequest, 'instructions' | 'input'>): Message[] {
  const messages: Message[] = instructions ? [{ role: 'system', content: instructions }] : []
  if (typeof input === 'string') messages.push({ role: 'user', content: input })
  // Each is appended to one list, because a copy for each would take quadratic time.
  else for (const [index, item] of input.entries()) add(messages, item, index)
  return messages
}

function add(messages: Message[], item: InputItem, index: number): void {
  switch (item.type) {
    case 'function_call':
      addCall(messages, item)
      return
    case 'function_call_output':
      messages.push({ role: 'tool', tool_call_id: item.call_id, content: plainText(item.output) })
      return
    case 'reasoning':
    case 'web_search_call':
      // A model's earlier thoughts and searches are not part of its next prompt.
      return
    case 'item_reference':
      throw fieldError(['input', index, 'type'], 'This service stores no items; send the item itself')
    default: {
      const { role, content } = item
      messages.push({ role, content: contentOf(role, content) })
    }
  }
}

/** All calls of one turn belong to one assistant message, with the text before them. */
function addCall(messages: Message[], item: InputItem & { type: 'function_call' }): void {
  const call = { id: item.call_id, type: 'function', function: { name: item.name, arguments: item.arguments } }
  const last = messages.at(-1)
  if (last?.role !== 'assistant') messages.push({ role: 'assistant', content: null, tool_calls: [call] })
  else if (Array.isArray(last.tool_calls)) last.tool_calls.push(call)
  else last.tool_calls = [call]
}

/** Only a user's message may contain more than text. */
function contentOf(role: string, content: string | readonly InputPart[]): unknown {
  if (typeof content === 'string') return content
  return role === 'user' ? content.map(chatPart) : plainText(content)
}

const plainText = (content: string | readonly InputPart[]): string =>
  typeof content === 'string' ? content : content.map(part => ('text' in part ? part.text : '')).join('')

function chatPart(part: InputPart): Message {
  switch (part.type) {
    case 'input_image':
    case 'image_url': {
      const { image_url: image } = part
      return { type: 'image_url', image_url: typeof image === 'string' ? { url: image } : image }
    }
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio }
    case 'input_file': {
      const { file_data, filename } = part
      return { type: 'file', file: { file_data, ...(filename === undefined ? {} : { filename }) } }
    }
    default:
      return { type: 'text', text: part.text }
  }
}
