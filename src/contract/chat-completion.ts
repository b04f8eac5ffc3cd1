import { z } from 'zod'
import { ReasoningDetail, ToolCall } from './chat-message.ts'
import { ServiceParametersEcho } from './service-parameters.ts'

/** Answers of a chat (published contract §5.2, §5.3). Loose, because a forwarded engine's own members stay. */

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

/** What a request cost, by the money it was paid with. */
export const Cost = z.strictObject({ usd: z.number().min(0), diem: z.number().min(0) })

const FinishReason = z.string()

export const ChatChoice = z.looseObject({
  index: z.number().int().min(0),
  finish_reason: FinishReason.nullable(),
  logprobs: z.looseObject({}).nullish(),
  stop_reason: z.union([z.string(), z.number()]).nullish(),
  message: z.looseObject({
    role: z.enum(['assistant', 'tool']),
    content: z.union([z.string(), z.array(z.looseObject({}))]).nullish(),
    reasoning_content: z.string().nullish(),
    reasoning_details: z.array(ReasoningDetail).nullish(),
    tool_calls: z.array(ToolCall).nullish(),
  }),
})

export const ChatCompletion = z
  .looseObject({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: z.number().int(),
    model: z.string(),
    choices: z.array(ChatChoice),
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
    choices: z.array(
      z.looseObject({
        index: z.number().int().min(0),
        delta: z.looseObject({
          role: z.string().nullish(),
          content: z.string().nullish(),
          reasoning_content: z.string().nullish(),
          tool_calls: z.array(ToolCall).nullish(),
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
