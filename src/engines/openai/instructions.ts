import type { ChatMessage } from '#contract/operations/chat.ts'

/**
 * Returns a conversation whose instructions have the role `system`, and whose leading ones are one message: those of the
 * service, of a character and of the caller. The templates of many models read only the first message, and refuse or
 * drop another one, or one with the role `developer`.
 */
export function plainInstructions(messages: readonly ChatMessage[]): ChatMessage[] {
  const end = messages.findIndex(message => !isInstruction(message))
  const head = messages.slice(0, end === -1 ? messages.length : end).filter(isInstruction)
  const rest = messages.slice(head.length).map(asSystem)
  const [first, another] = head
  if (!first) return rest
  return another ? [{ role: 'system', content: contentOf(head) }, ...rest] : [asSystem(first), ...rest]
}

type Instruction = Extract<ChatMessage, { role: 'system' | 'developer' }>

const isInstruction = (message: ChatMessage): message is Instruction =>
  message.role === 'system' || message.role === 'developer'

const asSystem = (message: ChatMessage): ChatMessage =>
  message.role === 'developer' ? { ...message, role: 'system' } : message

/** One text, unless a part of it is marked for the engine's cache. */
function contentOf(head: readonly Instruction[]): Instruction['content'] {
  const parts = head.map(({ content }) => (typeof content === 'string' ? [textPart(content)] : content))
  if (parts.flat().some(part => part.cache_control)) return parts.flat()
  return parts.map(texts => texts.map(({ text }) => text).join('')).join('\n\n')
}

const textPart = (text: string): Exclude<Instruction['content'], string>[number] => ({ type: 'text', text })
