import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { Call, Reply } from '../../http/call.ts'
import type { Service } from '../../http/service.ts'
import { planChat } from './chat-plan.ts'
import { completeChat } from './complete-chat.ts'
import { streamChat } from './stream-chat.ts'

export async function answerChat(call: Call, body: ChatCompletionRequest, service: Service): Promise<Reply> {
  const plan = await planChat(call, body, service)
  return body.stream ? streamChat(call, plan, service) : completeChat(call, plan, service)
}
