import { createChatCompletion } from '#contract/chat.ts'
import { onceLoaded } from '../once-loaded.ts'
import { route } from '../route.ts'

/** Loaded with the first chat: the tokenizer alone would cost more than half of a cold start. */
const chat = onceLoaded(() => import('../chat/answer-chat.ts'))

export const createChatCompletionRoute = route(createChatCompletion, async (call, service) => {
  const { answerChat } = await chat()
  return answerChat(call, call.body, service)
})
