import { fieldError } from '#contract/errors/issues.ts'
import type { ChatMessage } from '#contract/operations/chat.ts'
import type { LlamaFunctionCall, LlamaTurn } from './llama-package.ts'

/** A conversation as llama.cpp's templates take it, with an empty answer at its end. Throws `invalidRequest`. */
export function turnsOf(messages: readonly ChatMessage[]): LlamaTurn[] {
  const turns: LlamaTurn[] = []
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') answerCall(turns, message, index)
    else turns.push(turnOf(message, index))
  }
  if (turns.at(-1)?.type !== 'model') turns.push({ type: 'model', response: [] })
  return turns
}

function turnOf(message: Exclude<ChatMessage, { role: 'tool' }>, index: number): LlamaTurn {
  const text = textOf(message.content, index)
  if (message.role === 'user') return { type: 'user', text }
  if (message.role !== 'assistant') return { type: 'system', text }
  const calls = (message.tool_calls ?? []).map((call, place) => callOf(call, ['messages', index, 'tool_calls', place]))
  return { type: 'model', response: [...(text ? [text] : []), ...calls] }
}

type Content = Exclude<ChatMessage, { role: 'tool' }>['content']

function textOf(content: Content, index: number): string {
  if (typeof content === 'string') return content
  const parts = (content ?? []).map((part, place) => {
    if (part.type === 'text') return part.text
    throw fieldError(['messages', index, 'content', place, 'type'], 'This model takes text; allowed values: text')
  })
  return parts.join('\n')
}

type ToolCall = NonNullable<Extract<ChatMessage, { role: 'assistant' }>['tool_calls']>[number]

/** The id is kept beside what the template prints, so that the tool's message finds its call. */
type NamedCall = LlamaFunctionCall & { id: string }

function callOf({ id = '', function: called }: ToolCall, path: (string | number)[]): NamedCall {
  const { name = '', arguments: text = '{}' } = called ?? {}
  try {
    return { type: 'functionCall', id, name, params: JSON.parse(text || '{}'), result: null }
  } catch {
    throw fieldError([...path, 'function', 'arguments'], 'must be JSON, as the model wrote it')
  }
}

function answerCall(turns: readonly LlamaTurn[], message: Extract<ChatMessage, { role: 'tool' }>, index: number): void {
  const calls = turns.flatMap(turn => (turn.type === 'model' ? turn.response : [])).filter(isCall)
  const call = calls.find(({ id }) => id === message.tool_call_id)
  if (!call) throw fieldError(['messages', index, 'tool_call_id'], 'answers no call of a message before it')
  call.result = message.content
}

const isCall = (item: string | LlamaFunctionCall): item is NamedCall => typeof item !== 'string'
