import { createChatCompletion } from '#contract/operations/chat.ts'
import { onceLoaded } from '#host/packages.ts'
import { route } from '../../http/route.ts'

/** Loaded with the first chat: the tokenizer alone would cost more than half of a cold start. */
const chat = onceLoaded(() => import('./answer-chat.ts'))

export const createChatCompletionRoute = route(createChatCompletion, async (call, service) => {
  const { answerChat } = await chat()
  return answerChat(call, call.body, service)
})
