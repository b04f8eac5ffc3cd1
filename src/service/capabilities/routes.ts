import { createChatCompletion } from '#contract/operations/chat.ts'
import { createTextParser } from '#contract/operations/documents.ts'
import { createEmbedding } from '#contract/operations/embeddings.ts'
import { listModelCompatibilityMapping, listModels, listModelTraits } from '#contract/operations/models.ts'
import { operations } from '#contract/operations/operations.ts'
import { createResponse } from '#contract/operations/responses.ts'
import { paidOncePerKey } from '#contract/wire/headers.ts'
import { onceLoaded } from '#host/packages.ts'
import { json, type Route, route } from '../http/route.ts'
import * as audio from './audio/routes.ts'
import * as billing from './billing/routes.ts'
import * as characters from './characters/routes.ts'
import * as images from './images/routes.ts'
import * as keys from './keys/routes.ts'
import * as rpc from './rpc/routes.ts'
import * as video from './video/routes.ts'
import * as web from './web/routes.ts'

/** Loaded with the first chat: the tokenizer alone would more than double a cold start. */
export const loadChat = onceLoaded(async () => {
  const [{ planChat }, { completeChat }, { streamChat }] = await Promise.all([
    import('./chat/chat-plan.ts'),
    import('./chat/complete-chat.ts'),
    import('./chat/stream-chat.ts'),
  ])
  return { planChat, completeChat, streamChat }
})

/** Both are separate files in the package, loaded when text is first counted or an engine first called. */
export const loadTokenizer = onceLoaded(async () => {
  const { countTokens } = await import('#engines/tokens/count-tokens.ts')
  countTokens('Read the tables.')
})
export const loadHttpClient = onceLoaded(async () => {
  const upstream = await import('#engines/http/upstream.ts')
  upstream.loadHttpClient()
})

/** Each loads its code with the first request, because the code needs the tokenizer, or the document readers. */
const text = [
  route(createChatCompletion, async (call, service) => {
    const { planChat, completeChat, streamChat } = await loadChat()
    const plan = await planChat(call, call.body, service)
    return call.body.stream ? streamChat(call, plan, service) : completeChat(call, plan, service)
  }),
  route(createResponse, async (call, service) => {
    const { answerResponse } = await import('./responses/answer-response.ts')
    return answerResponse(call, call.body, service)
  }),
  route(createEmbedding, async (call, service) => {
    const { answerEmbedding } = await import('./embeddings/answer-embedding.ts')
    return answerEmbedding(call, call.body, service)
  }),
  route(createTextParser, async (call, service) => {
    const { answerTextParser } = await import('./documents/text-parser.ts')
    return answerTextParser(call, call.body, service)
  }),
]

const models = [
  route(listModels, async ({ query, set }, { catalogue }) => {
    set(paidOncePerKey, true)
    return json({ object: 'list', type: query.type, data: catalogue.records(query.type) })
  }),
  route(listModelTraits, async ({ query: { type } }, { catalogue }) =>
    json({ object: 'list', type, data: catalogue.traits(type) }),
  ),
  route(listModelCompatibilityMapping, async ({ query: { type } }, { catalogue }) =>
    json({ object: 'list', type, data: catalogue.compatibleIds(type) }),
  ),
]

const capabilities = [audio, billing, characters, images, keys, models, rpc, text, video, web].flatMap(
  each => Object.values(each) as unknown as Route[],
)

/** The route of each operation, in the contract's order; a test compares the two lists. */
export const routes: readonly Route[] = operations.flatMap(operation =>
  capabilities.filter(route => route.operation === operation),
)
