/** Routes of text: their work is loaded with the first request, because it needs the tokenizer. */
import { createChatCompletion } from '#contract/operations/chat.ts'
import { createTextParser } from '#contract/operations/documents.ts'
import { createEmbedding } from '#contract/operations/embeddings.ts'
import { createResponse } from '#contract/operations/responses.ts'
import { onceLoaded } from '#host/packages.ts'
import { route } from '../http/route.ts'

/** Loaded with the first chat: the tokenizer alone would cost more than half of a cold start. */
export const loadChat = onceLoaded(async () => {
  const [{ planChat }, { completeChat }, { streamChat }] = await Promise.all([
    import('./chat/chat-plan.ts'),
    import('./chat/complete-chat.ts'),
    import('./chat/stream-chat.ts'),
  ])
  return { planChat, completeChat, streamChat }
})

export const createChatCompletionRoute = route(createChatCompletion, async (call, service) => {
  const { planChat, completeChat, streamChat } = await loadChat()
  const plan = await planChat(call, call.body, service)
  return call.body.stream ? streamChat(call, plan, service) : completeChat(call, plan, service)
})

/** Loaded with the first request, because it is answered as a chat. */
const responses = onceLoaded(() => import('./responses/answer-response.ts'))

export const createResponseRoute = route(createResponse, async (call, service) => {
  const { answerResponse } = await responses()
  return answerResponse(call, call.body, service)
})

/** Loaded with the first request, because the tokenizer comes along. */
const embeddings = onceLoaded(() => import('./embeddings/answer-embedding.ts'))

export const createEmbeddingRoute = route(createEmbedding, async (call, service) => {
  const { answerEmbedding } = await embeddings()
  return answerEmbedding(call, call.body, service)
})

/** What reads documents is loaded with the first of them. */
export const createTextParserRoute = route(createTextParser, async (call, service) => {
  const { answerTextParser } = await import('./documents/text-parser.ts')
  return answerTextParser(call, call.body, service)
})
