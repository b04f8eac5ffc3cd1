import { createChatCompletion } from '#contract/chat.ts'
import { route } from '../route.ts'

/** Loaded with the first chat: the tokenizer alone would cost more than half of a cold start. */
export const createChatCompletionRoute = route(createChatCompletion, async (call, service) => {
  const { answerChat } = await import('../chat/answer-chat.ts')
  return answerChat(call, call.body, service)
})
