import type { ChatCall } from '../ports/engine.ts'
import { chatMembers, handedOn, type Members, withoutNames } from '../ports/published-members.ts'
import { askedTokens } from '../tokens/asked-tokens.ts'

export interface Forwarding {
  stream: boolean
  /** The name under which the engine takes the limit of an answer's tokens. */
  lengthMember: 'max_tokens' | 'max_completion_tokens'
  members: Members
}

/** Members that this service writes itself: what is asked of whom, how long the answer may be, and in which form it comes. */
export const ownMembers: readonly string[] = [
  'model',
  'max_tokens',
  'max_completion_tokens',
  'stream',
  'stream_options',
  'service_parameters',
]

/** What of a caller's request a server with OpenAI's API is told: the published members, and what its operator adds. */
export const forwardedMembers = (passMembers: readonly string[] = []): Members =>
  withoutNames(chatMembers(passMembers), ownMembers)

/** A request in the engine's own names. What is in `members` passes as it is, and nothing else of the caller's does. */
export function forwardedRequest(
  call: ChatCall,
  { stream, lengthMember, members }: Forwarding,
): Record<string, unknown> {
  const { request, engineModel, maxCompletionTokens } = call
  const each = Math.max(1, Math.floor(maxCompletionTokens / (request.n ?? 1)))
  return {
    ...handedOn<object>(request, members),
    model: engineModel,
    [lengthMember]: Math.min(each, askedTokens(request) ?? each),
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
  }
}
