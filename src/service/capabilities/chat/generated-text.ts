/** A message or a piece of one, with whatever else its engine put beside the members that we know. */
export type Generated = { content?: unknown; tool_calls?: unknown; [member: string]: unknown }

/** Names under which engines send the same reasoning, some of them under two at once. */
const reasoningMembers = ['reasoning_content', 'reasoning', 'reasoning_details'] as const

/** Not generated: what says whose words follow, and what is told about them. */
const silentMembers: ReadonlySet<string> = new Set(['role', 'annotations', 'logprobs', ...reasoningMembers])

/** All of a message that was generated, under whatever name, because all of it reaches the caller. */
export function generatedText(message: Generated): string {
  const reasoning = reasoningMembers.map(name => written(message[name])).reduce(longer)
  const others = Object.entries(message).filter(([name]) => !silentMembers.has(name))
  return reasoning + others.map(([, value]) => written(value)).join('')
}

const longer = (one: string, other: string): string => (other.length > one.length ? other : one)

function written(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return ''
  return JSON.stringify(value)
}
