import { z } from 'zod'
import {
  CodedError,
  ContentViolation,
  DetailedError,
  OpenAiError,
  paidModelFailures,
  StandardError,
} from '../errors/failures.ts'
import { answerListOf, anyObject, listOf } from '../schemas.ts'
import { defineOperation } from './operation.ts'
import { ServiceParameters, ServiceParametersEcho } from './service-parameters.ts'

/** Messages of a chat request (brief §4.3): text, images, `input_audio`, `video_url`, files. */

const cacheControl = {
  cache_control: z.looseObject({ type: z.literal('ephemeral'), ttl: z.string().optional() }).optional(),
}

const TextPart = z.looseObject({ type: z.literal('text'), text: z.string().min(1), ...cacheControl })

const ImagePart = z.looseObject({
  type: z.literal('image_url'),
  image_url: z.looseObject({ url: z.string().min(1) }),
  ...cacheControl,
})

const AudioPart = z.looseObject({
  type: z.literal('input_audio'),
  input_audio: z.looseObject({
    data: z.string().min(1),
    format: z.enum(['wav', 'mp3', 'aiff', 'aac', 'ogg', 'flac', 'm4a', 'pcm16', 'pcm24']).optional(),
  }),
  ...cacheControl,
})

const VideoPart = z.looseObject({
  type: z.literal('video_url'),
  video_url: z.looseObject({ url: z.string().min(1) }),
  ...cacheControl,
})

const FilePart = z.looseObject({
  type: z.literal('file'),
  file: z.looseObject({ file_data: z.string().min(1), filename: z.string().optional() }),
  ...cacheControl,
})

export const ContentPart = z.discriminatedUnion('type', [TextPart, ImagePart, AudioPart, VideoPart, FilePart])
export type ContentPart = z.output<typeof ContentPart>

const ToolCall = z.looseObject({
  id: z.string().optional(),
  type: z.string().optional(),
  function: z.looseObject({ name: z.string().optional(), arguments: z.string().optional() }).optional(),
})

/** Reasoning that the model expects back with the next message. */
const ReasoningDetail = z.looseObject({
  type: z.string(),
  id: z.string().nullish(),
  text: z.string().nullish(),
  data: z.string().nullish(),
  format: z.string().nullish(),
  index: z.number().nullish(),
})

const UserMessage = z.looseObject({
  role: z.literal('user'),
  content: z.union([z.string(), listOf(ContentPart)]),
  name: z.string().nullish(),
})

const AssistantMessage = z
  .looseObject({
    role: z.literal('assistant'),
    content: z.union([z.string(), listOf(TextPart)]).nullish(),
    name: z.string().nullish(),
    reasoning_content: z.string().nullish(),
    reasoning_details: listOf(ReasoningDetail).nullish(),
    tool_calls: listOf(ToolCall).nullish(),
  })
  .refine(
    ({ content, tool_calls: calls }) => typeof content === 'string' || Array.isArray(content) || Array.isArray(calls),
    {
      path: ['content'],
      message: 'An assistant message must have `content` or `tool_calls`',
    },
  )

/** OpenAI's clients may send parts (brief §1.2), which few engines accept here. */
const ToolContent = z.union([z.string(), listOf(TextPart).transform(parts => parts.map(({ text }) => text).join('\n'))])

const ToolMessage = z.looseObject({
  role: z.literal('tool'),
  content: ToolContent,
  tool_call_id: z.string(),
  name: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: listOf(ToolCall).nullish(),
})

const systemMember = { content: z.union([z.string(), listOf(TextPart)]), name: z.string().nullish() }
const SystemMessage = z.looseObject({ role: z.literal('system'), ...systemMember })
const DeveloperMessage = z.looseObject({ role: z.literal('developer'), ...systemMember })

export const ChatMessage = z
  .discriminatedUnion('role', [UserMessage, AssistantMessage, ToolMessage, SystemMessage, DeveloperMessage])
  .meta({ id: 'ChatMessage' })
export type ChatMessage = z.output<typeof ChatMessage>

/** Answers of a chat (published contract §5.2, §5.3). Loose, because members of a forwarded engine are kept. */

export const TokenUsage = z.looseObject({
  prompt_tokens: z.number().int().min(0),
  completion_tokens: z.number().int().min(0),
  total_tokens: z.number().int().min(0),
  prompt_tokens_details: z
    .looseObject({
      cached_tokens: z.number().int().min(0).nullish(),
      cache_creation_input_tokens: z.number().int().min(0).nullish(),
    })
    .nullish(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: z.number().int().min(0).nullish() }).nullish(),
})
export type TokenUsage = z.output<typeof TokenUsage>

/** What a request cost, by the currency that paid. */
export const Cost = z.strictObject({ usd: z.number().min(0), diem: z.number().min(0) })

const FinishReason = z.string()

const ChatChoice = z.looseObject({
  index: z.number().int().min(0),
  finish_reason: FinishReason.nullable(),
  logprobs: z.looseObject({}).nullish(),
  stop_reason: z.union([z.string(), z.number()]).nullish(),
  message: z.looseObject({
    role: z.enum(['assistant', 'tool']),
    content: z.union([z.string(), listOf(z.looseObject({}))]).nullish(),
    reasoning_content: z.string().nullish(),
    reasoning_details: answerListOf(ReasoningDetail).nullish(),
    tool_calls: answerListOf(ToolCall).nullish(),
  }),
})

export const ChatCompletion = z
  .looseObject({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: z.number().int(),
    model: z.string(),
    choices: answerListOf(ChatChoice),
    usage: TokenUsage.optional(),
    cost: Cost.optional(),
    service_parameters: ServiceParametersEcho.optional(),
    prompt_logprobs: z.looseObject({}).nullish(),
  })
  .meta({ id: 'ChatCompletion' })
export type ChatCompletion = z.output<typeof ChatCompletion>

export const ChatCompletionChunk = z
  .looseObject({
    id: z.string(),
    object: z.literal('chat.completion.chunk'),
    created: z.number().int(),
    model: z.string(),
    choices: answerListOf(
      z.looseObject({
        index: z.number().int().min(0),
        delta: z.looseObject({
          role: z.string().nullish(),
          content: z.string().nullish(),
          reasoning_content: z.string().nullish(),
          tool_calls: answerListOf(ToolCall).nullish(),
        }),
        finish_reason: FinishReason.nullish(),
      }),
    ),
    usage: TokenUsage.nullish(),
    cost: Cost.optional(),
    service_parameters: ServiceParametersEcho.optional(),
  })
  .meta({ id: 'ChatCompletionChunk' })
export type ChatCompletionChunk = z.output<typeof ChatCompletionChunk>

export const ReasoningEffort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
const Verbosity = z.enum(['low', 'medium', 'high', 'auto'])

const ResponseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({ type: z.literal('json_schema'), json_schema: anyObject() }),
])

const Tool = z.union([
  z.looseObject({
    type: z.string().optional(),
    id: z.string().optional(),
    function: z.looseObject({
      name: z.string().min(1),
      description: z.string().optional(),
      parameters: anyObject().optional(),
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
 * OpenAI's request with this contract's fields (published contract §5.1). Unknown members are accepted (brief §1.4); an
 * engine gets only those that its operator lists.
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
    metadata: anyObject().nullish(),
    store: z.boolean().nullish(),
    user: z.string().nullish(),
    service_parameters: ServiceParameters.optional(),
  })
  .meta({ id: 'ChatCompletionRequest' })
export type ChatCompletionRequest = z.output<typeof ChatCompletionRequest>

/** Failures of every operation that answers a conversation, in any shape. */
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
  summary: 'Reply to a conversation; compatible with OpenAI clients, streamed on request',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'text',
  request: { body: ChatCompletionRequest },
  answer: { json: ChatCompletion, events: ChatCompletionChunk },
  failures: chatFailures,
})
