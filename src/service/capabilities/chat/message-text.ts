import type { ChatCompletion, ChatMessage } from '#contract/operations/chat.ts'

export function newestText(messages: readonly ChatMessage[]): string {
  const newest = messages.findLast(({ role }) => role === 'user')
  return newest ? textOf(newest) : ''
}

export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
}

export function textOfChoice({ choices }: ChatCompletion): string {
  const content = choices[0]?.message.content
  return typeof content === 'string' ? content : ''
}
