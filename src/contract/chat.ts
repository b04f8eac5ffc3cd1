import { z } from 'zod'
import { listOf } from './bounded-list.ts'
import { ChatCompletion, ChatCompletionChunk } from './chat-completion.ts'
import { ChatMessage } from './chat-message.ts'
import { CodedError, ContentViolation, DetailedError, OpenAiError, StandardError } from './failures.ts'
import { defineOperation } from './operation.ts'
import { paidModelFailures } from './paid-failures.ts'
import { ServiceParameters } from './service-parameters.ts'

export { ChatCompletion, ChatCompletionChunk, ChatMessage }

const ReasoningEffort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
const Verbosity = z.enum(['low', 'medium', 'high', 'auto'])

const ResponseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({ type: z.literal('json_schema'), json_schema: z.record(z.string(), z.unknown()) }),
])

const Tool = z.union([
  z.looseObject({
    type: z.string().optional(),
    id: z.string().optional(),
    function: z.looseObject({
      name: z.string().min(1),
      description: z.string().optional(),
      parameters: z.record(z.string(), z.unknown()).optional(),
      strict: z.boolean().nullish(),
    }),
  }),
  z.looseObject({ type: z.enum(['web_search', 'x_search']) }),
])

const sampling = {
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  repetition_penalty: z.number().min(0).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  max_temp: z.number().min(0).max(2).nullish(),
  min_temp: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  top_k: z.number().int().min(0).nullish(),
  seed: z.number().int().positive().nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.number().int().min(0).nullish(),
}

const length = {
  max_tokens: z.number().int().positive().nullish(),
  max_completion_tokens: z.number().int().positive().nullish(),
  n: z.number().int().min(1).max(16).nullish(),
  stop: z.union([z.string(), listOf(z.string()).min(1).max(4)]).nullish(),
  stop_token_ids: listOf(z.number()).nullish(),
}

/**
 * OpenAI's request with this contract's fields (published contract §5.1). Unknown members are tolerated (brief §1.4); an
 * engine gets those alone that its operator names.
 */
export const ChatCompletionRequest = z
  .looseObject({
    model: z.string().min(1),
    messages: listOf(ChatMessage).min(1),
    ...sampling,
    ...length,
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
    tools: listOf(Tool).nullish(),
    tool_choice: z
      .union([
        z.string(),
        z.looseObject({ type: z.string(), function: z.looseObject({ name: z.string() }).optional() }),
      ])
      .nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    response_format: ResponseFormat.nullish(),
    reasoning: z
      .looseObject({ effort: ReasoningEffort.optional(), summary: z.enum(['auto', 'concise', 'detailed']).optional() })
      .nullish(),
    reasoning_effort: ReasoningEffort.nullish(),
    verbosity: Verbosity.nullish(),
    text: z.looseObject({ verbosity: Verbosity.optional() }).nullish(),
    prompt_cache_key: z.string().nullish(),
    prompt_cache_retention: z.enum(['default', 'extended', '24h']).nullish(),
    fallbacks: listOf(z.looseObject({ model: z.string().min(1) }))
      .max(10)
      .nullish(),
    include: listOf(z.string()).nullish(),
    metadata: z.record(z.string(), z.unknown()).nullish(),
    store: z.boolean().nullish(),
    user: z.string().nullish(),
    service_parameters: ServiceParameters.optional(),
  })
  .meta({ id: 'ChatCompletionRequest' })
export type ChatCompletionRequest = z.output<typeof ChatCompletionRequest>

/** Of every operation that answers a conversation, in whatever shape. */
export const chatFailures = {
  ...paidModelFailures,
  400: z.union([DetailedError, CodedError, OpenAiError]),
  415: StandardError,
  422: ContentViolation,
  504: StandardError,
} as const

export const createChatCompletion = defineOperation({
  id: 'createChatCompletion',
  method: 'POST',
  path: '/chat/completions',
  tag: 'Chat',
  summary: 'Answer a conversation; compatible with OpenAI clients, streamed on request',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'text',
  request: { body: ChatCompletionRequest },
  answer: { json: ChatCompletion, events: ChatCompletionChunk },
  failures: chatFailures,
})
