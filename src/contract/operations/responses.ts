import { z } from 'zod'
import { answerListOf, listOf } from '../schemas.ts'
import { Cost, chatFailures, ReasoningEffort } from './chat.ts'
import { defineOperation } from './operation.ts'
import { ServiceParameters } from './service-parameters.ts'

/**
 * OpenAI's Responses as published (§5.6, alpha). Nothing is stored, so every request contains the whole conversation.
 */

const ImageAddress = z.union([z.string().min(1), z.looseObject({ url: z.string().min(1) })])

const InputPart = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('input_text'), text: z.string() }),
  z.looseObject({ type: z.literal('output_text'), text: z.string() }),
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('input_image'), image_url: ImageAddress }),
  z.looseObject({ type: z.literal('image_url'), image_url: ImageAddress }),
  z.looseObject({
    type: z.literal('input_audio'),
    input_audio: z.looseObject({ data: z.string().min(1), format: z.string().optional() }),
  }),
  z.looseObject({ type: z.literal('input_file'), file_data: z.string().min(1), filename: z.string().optional() }),
])
export type InputPart = z.output<typeof InputPart>

const InputMessage = z.looseObject({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), listOf(InputPart)]),
})

const InputItem = z.discriminatedUnion('type', [
  InputMessage,
  z.looseObject({
    type: z.literal('function_call'),
    call_id: z.string().min(1),
    name: z.string().min(1),
    arguments: z.string(),
  }),
  z.looseObject({
    type: z.literal('function_call_output'),
    call_id: z.string().min(1),
    output: z.union([z.string(), listOf(InputPart)]),
  }),
  z.looseObject({ type: z.literal('reasoning') }),
  z.looseObject({ type: z.literal('web_search_call') }),
  z.looseObject({ type: z.literal('item_reference'), id: z.string().min(1) }),
])
export type InputItem = z.output<typeof InputItem>

/** A function: nested as published, or flat as OpenAI's clients send it. */
const ResponseTool = z.looseObject({
  type: z.string().min(1),
  name: z.string().min(1).optional(),
  function: z.looseObject({ name: z.string().min(1) }).optional(),
})

export const ResponsesRequest = z
  .looseObject({
    model: z.string().min(1),
    input: z.union([z.string(), listOf(InputItem)]),
    instructions: z.string().nullish(),
    include: listOf(z.string()).nullish(),
    max_output_tokens: z.number().int().positive().nullish(),
    temperature: z.number().min(0).max(2).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    fallbacks: listOf(z.looseObject({ model: z.string().min(1) }))
      .max(10)
      .nullish(),
    reasoning: z
      .looseObject({
        effort: ReasoningEffort.nullish(),
        summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
      })
      .nullish(),
    tools: listOf(ResponseTool).nullish(),
    tool_choice: z
      .union([
        z.enum(['auto', 'none', 'required']),
        z.looseObject({
          type: z.literal('function'),
          name: z.string().min(1).optional(),
          function: z.looseObject({ name: z.string().min(1) }).optional(),
        }),
      ])
      .nullish(),
    text: z.looseObject({ format: z.looseObject({ type: z.string() }).nullish() }).nullish(),
    web_search: z.boolean().nullish(),
    stream: z.boolean().nullish(),
    service_parameters: ServiceParameters.optional(),
  })
  .meta({ id: 'ResponsesRequest' })
export type ResponsesRequest = z.output<typeof ResponsesRequest>

const UrlCitation = z.strictObject({
  type: z.literal('url_citation'),
  url: z.string(),
  title: z.string().optional(),
  /** Offset into the text, in characters. */
  start_index: z.number().int().min(0),
  end_index: z.number().int().min(0),
})

export const OutputItem = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('reasoning'), id: z.string(), summary: answerListOf(z.string()) }),
  z.strictObject({
    type: z.literal('message'),
    id: z.string(),
    status: z.enum(['completed', 'in_progress', 'failed']),
    role: z.literal('assistant'),
    content: answerListOf(
      z.strictObject({ type: z.literal('output_text'), text: z.string(), annotations: answerListOf(UrlCitation) }),
    ),
  }),
  z.strictObject({
    type: z.literal('function_call'),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status: z.enum(['completed', 'in_progress']),
  }),
  z.strictObject({ type: z.literal('web_search_call'), id: z.string(), status: z.literal('completed') }),
])
export type OutputItem = z.output<typeof OutputItem>

export const ResponsesAnswer = z
  .strictObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: z.number().int(),
    model: z.string(),
    status: z.enum(['completed', 'failed', 'in_progress', 'cancelled']),
    output: answerListOf(OutputItem),
    usage: z
      .strictObject({
        input_tokens: z.number().int().min(0),
        input_tokens_details: z.strictObject({ cached_tokens: z.number().int().min(0) }),
        output_tokens: z.number().int().min(0),
        output_tokens_details: z.strictObject({ reasoning_tokens: z.number().int().min(0) }),
        total_tokens: z.number().int().min(0),
      })
      .optional(),
    /** Set if the answer was cut off at its limit, as in OpenAI's API. */
    incomplete_details: z.strictObject({ reason: z.literal('max_output_tokens') }).optional(),
    error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
    cost: Cost.optional(),
  })
  .meta({ id: 'Response' })
export type ResponsesAnswer = z.output<typeof ResponsesAnswer>

/** Each event has a type, which is also its `event:` line, and a number; the rest depends on the type. */
export const ResponsesEvent = z
  .looseObject({ type: z.string().startsWith('response.'), sequence_number: z.number().int().min(0) })
  .meta({ id: 'ResponseEvent' })
export type ResponsesEvent = z.output<typeof ResponsesEvent>

export const createResponse = defineOperation({
  id: 'createResponse',
  method: 'POST',
  path: '/responses',
  tag: 'Responses',
  summary: 'Reply to a conversation in the format of OpenAI’s Responses API; nothing is stored (alpha)',
  auth: ['apiKey', 'wallet'],
  charge: 'usage',
  limit: 'text',
  request: { body: ResponsesRequest },
  answer: { json: ResponsesAnswer, events: ResponsesEvent },
  failures: chatFailures,
})
