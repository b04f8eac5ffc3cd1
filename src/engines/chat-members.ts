import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { ChatEngine } from './engine.ts'
import { handedOn, type Members, membersOf, withoutNames, withPath } from './published-members.ts'

/** Published, but not for an engine: who calls, what OpenAI would keep, and models that nobody priced. */
const keptHere = ['user', 'store', 'metadata', 'fallbacks']

/** In which detail an image is looked at: published for Responses, and sent by OpenAI's clients here too. */
const imageDetail = 'messages.content.image_url.detail'

let published: Members | undefined

/** What an engine may be told of a chat: the published members (published contract §5.1) and these paths. */
export function chatMembers(paths: readonly string[] = []): Members {
  published ??= withPath(withoutNames(membersOf(ChatCompletionRequest), keptHere), imageDetail)
  return paths.reduce(withPath, published)
}

const known = new WeakMap<ChatEngine, Members>()

/** A request without the members that this engine is not told, so that they are neither held for nor counted. */
export function requestFor(engine: ChatEngine, request: ChatCompletionRequest): ChatCompletionRequest {
  const members = known.get(engine) ?? chatMembers(engine.passMembers)
  known.set(engine, members)
  return handedOn(request, members)
}
