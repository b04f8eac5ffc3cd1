import { createChatCompletion } from '#contract/chat.ts'
import { planChat } from '../chat/chat-plan.ts'
import { completeChat } from '../chat/complete-chat.ts'
import { streamChat } from '../chat/stream-chat.ts'
import { route } from '../route.ts'

export const createChatCompletionRoute = route(createChatCompletion, async (call, service) => {
  const plan = await planChat(call, call.body, service)
  return call.body.stream ? streamChat(call, plan, service) : completeChat(call, plan, service)
})
