/** Each field of an operation can be sent through its tool, or is listed here with the reason; and a tool accepts nothing else. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createSpeech, createTranscription, createVoice, queueAudio } from '#contract/operations/audio.ts'
import { listCharacters } from '#contract/operations/characters.ts'
import { ContentPart, createChatCompletion } from '#contract/operations/chat.ts'
import { createTextParser } from '#contract/operations/documents.ts'
import { createEmbedding } from '#contract/operations/embeddings.ts'
import {
  backgroundRemoveImage,
  editImage,
  generateImage,
  multiEditImage,
  upscaleImage,
} from '#contract/operations/images.ts'
import { listModels } from '#contract/operations/models.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { cryptoRpcProxy } from '#contract/operations/rpc.ts'
import { queueVideo } from '#contract/operations/video.ts'
import { webScrape, webSearch } from '#contract/operations/web.ts'
import type { Tool } from '#toolkit/define.ts'
import { tools } from '#tools/table.generated.ts'

const operationsOf: Readonly<Record<string, readonly Operation[]>> = {
  chain_rpc: [cryptoRpcProxy],
  characters_find: [listCharacters],
  chat: [createChatCompletion],
  embeddings_create: [createEmbedding],
  image_create: [generateImage],
  image_edit: [editImage, multiEditImage],
  image_remove_background: [backgroundRemoveImage],
  image_upscale: [upscaleImage],
  models_find: [listModels],
  music_create: [queueAudio],
  speech_create: [createSpeech],
  transcribe: [createTranscription],
  video_create: [queueVideo],
  voice_clone: [createVoice],
  web_read: [webScrape, createTextParser],
  web_search: [webSearch],
}

/** Tools of the wallet, of jobs and of what is kept here send no request of the caller's. */
const withoutRequest = [
  'estimate',
  'job_delete',
  'job_list',
  'job_wait',
  'limits',
  'usage_report',
  'wallet_receipts',
  'wallet_status',
  'wallet_top_up',
]

const sampling = 'the published contract alone has it; a program fine-tunes a model by agent.fetch'
const programs = 'for programs, which send requests of their own by agent.fetch or the proxy'
const delivery = 'the tool chooses how its answer comes'
const lean = 'a hint of the published contract alone, which few models take; each argument costs every assistant tokens'

/** Fields that are not sent through a tool on purpose, by tool. */
const exceptions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  chain_rpc: { jsonrpc: delivery, id: delivery },
  characters_find: {
    ...{
      offset: lean,
      categories: lean,
      isAdult: lean,
      isPro: lean,
      isWebEnabled: lean,
      modelId: lean,
      sortBy: lean,
      sortOrder: lean,
      tags: lean,
    },
  },
  chat: {
    ...Object.fromEntries(
      [
        'frequency_penalty',
        'presence_penalty',
        'repetition_penalty',
        'max_temp',
        'min_temp',
        'top_p',
        'min_p',
        'top_k',
        'seed',
        'logprobs',
        'top_logprobs',
        'n',
        'stop',
        'stop_token_ids',
        'reasoning',
        'reasoning_effort',
        'verbosity',
        'text',
      ].map(name => [name, sampling]),
    ),
    ...{ stream: delivery, stream_options: delivery, include: delivery, file: 'web_read reads documents' },
    ...{
      tools: programs,
      tool_choice: programs,
      parallel_tool_calls: programs,
      response_format: programs,
      fallbacks: programs,
    },
    ...{ prompt_cache_retention: sampling, metadata: programs, store: programs, user: programs },
  },
  embeddings_create: { encoding_format: delivery, user: programs },
  image_create: {
    ...{
      return_binary: delivery,
      inpaint: 'a field of old that takes null alone',
      safe_mode: 'on unless the operator has it otherwise',
    },
    ...{
      steps: lean,
      cfg_scale: lean,
      lora_strength: lean,
      hide_watermark: lean,
      embed_exif_metadata: lean,
      enable_web_search: lean,
    },
  },
  image_edit: { output_format: delivery, safe_mode: 'on unless the operator has it otherwise' },
  image_upscale: { enhanceCreativity: lean, enhancePrompt: lean, replication: lean },
  image_remove_background: {},
  music_create: { lyrics_optimizer: lean },
  speech_create: { streaming: delivery, temperature: sampling, top_p: sampling },
  transcribe: { response_format: delivery, timestamps: 'the answer is a text' },
  video_create: { consents: 'the user alone gives a consent' },
  web_read: { response_format: delivery },
  web_search: { search_provider: 'the operator chooses who searches' },
}

/** Arguments that are no field of a request, by what they are. */
const ownArguments: Readonly<Record<string, string>> = {
  again: 'buys another',
  preview: 'shows what was made',
  limit: 'rows that are shown',
  query: 'looked for in the list',
}

/** The fields of a schema, also inside of an object that wraps it. */
function shapeOf(schema: z.ZodType | undefined): Record<string, z.ZodType> {
  if (!schema) return {}
  if (schema instanceof z.ZodPipe) return shapeOf(schema.out as z.ZodType)
  if (schema instanceof z.ZodUnion) return Object.assign({}, ...schema.options.map(each => shapeOf(each as z.ZodType)))
  if (schema instanceof z.ZodArray) return shapeOf(schema.element as z.ZodType)
  return schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {}
}

/** What a request of the operation may say; of a chat also what its messages may hold. */
function fieldsOf({ id, request }: Operation): string[] {
  const { params, query, body } = request as { params?: z.ZodType; query?: z.ZodType; body?: z.ZodType }
  const own = [params, query, body].flatMap(part => Object.keys(shapeOf(part)))
  if (id !== createChatCompletion.id) return own
  const parts = ContentPart.options.flatMap(part => [...part.shape.type.values].map(String))
  return [...own, ...parts.filter(type => type !== 'text'), 'cache_control']
}

const loaded = await Promise.all(
  Object.entries(tools).map(async ([name, load]) => ({ name, tool: (await load()) as Tool })),
)

test('every tool stands here', () => {
  expect([...Object.keys(operationsOf), ...withoutRequest].sort()).toEqual(Object.keys(tools).sort())
})

describe.each(loaded.filter(({ name }) => name in operationsOf))('$name', ({ name, tool }) => {
  const { input, sentAs = {} } = tool
  const except = exceptions[name] ?? {}
  const fields = [...new Set((operationsOf[name] ?? []).flatMap(fieldsOf))]

  test('sends each field of its operation, or says here why not', () => {
    const sent = (field: string) => Object.hasOwn(sentAs, field) || Object.hasOwn(input.shape, field)
    expect(fields.filter(field => !sent(field) && !Object.hasOwn(except, field))).toEqual([])
  })

  test('has no exception that it takes or that its operation does not have', () => {
    const sent = (field: string) => Object.hasOwn(sentAs, field) || Object.hasOwn(input.shape, field)
    expect(Object.keys(except).filter(field => sent(field) || !fields.includes(field))).toEqual([])
  })

  test('takes no argument that goes nowhere', () => {
    const used = new Set([...Object.values(sentAs), ...fields, ...Object.keys(ownArguments), ...insideOf(name)])
    expect(Object.keys(input.shape).filter(argument => !used.has(argument))).toEqual([])
  })
})

/** Arguments that make up a message or a file. */
const insideOf = (name: string): string[] => (name === 'chat' ? ['system', 'history'] : [])
