import { fieldError } from '#contract/errors/issues.ts'
import type { InputItem, InputPart, ResponsesRequest } from '#contract/operations/responses.ts'

type Message = Record<string, unknown>

/** The conversation of a request as messages of a chat, its instructions first. Throws `invalidRequest`. */
export function chatMessages({ instructions, input }: Pick<ResponsesRequest, 'instructions' | 'input'>): Message[] {
  const first = instructions ? [{ role: 'system', content: instructions }] : []
  if (typeof input === 'string') return [...first, { role: 'user', content: input }]
  return input.reduce<Message[]>((messages, item, index) => added(messages, item, index), first)
}

function added(messages: Message[], item: InputItem, index: number): Message[] {
  switch (item.type) {
    case 'function_call':
      return withCall(messages, item)
    case 'function_call_output':
      return [...messages, { role: 'tool', tool_call_id: item.call_id, content: plainText(item.output) }]
    case 'reasoning':
    case 'web_search_call':
      // What a model thought or looked for is no part of what it is asked next.
      return messages
    case 'item_reference':
      throw fieldError(['input', index, 'type'], 'This service keeps no items; send the item itself')
    default: {
      const { role, content } = item
      return [...messages, { role, content: contentOf(role, content) }]
    }
  }
}

/** Calls of one turn are one message of the assistant, with what it said before them. */
function withCall(messages: Message[], item: InputItem & { type: 'function_call' }): Message[] {
  const call = { id: item.call_id, type: 'function', function: { name: item.name, arguments: item.arguments } }
  const last = messages.at(-1)
  if (last?.role !== 'assistant') return [...messages, { role: 'assistant', content: null, tool_calls: [call] }]
  const calls = Array.isArray(last.tool_calls) ? last.tool_calls : []
  return [...messages.slice(0, -1), { ...last, tool_calls: [...calls, call] }]
}

/** Only a user's message may hold more than text. */
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
