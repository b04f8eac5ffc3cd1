import { publishedMediaRequests } from './published-media-requests.ts'
import type { PublishedRequest } from './published-request.ts'
import {
  among,
  atLeast,
  between,
  flag,
  list,
  mapOf,
  number,
  object,
  orNull,
  type Schema,
  text,
  whole,
} from './published-schema.ts'

const cacheControl = object({ type: among('ephemeral'), ttl: text }, ['type'])
const part = (type: string, members: Readonly<Record<string, Schema>>) =>
  object({ type: among(type), cache_control: cacheControl, ...members }, ['type', ...Object.keys(members)])
const address = object({ url: { type: 'string', format: 'uri' } }, ['url'])
const textPart = part('text', { text: { type: 'string', minLength: 1 } })

const userParts = {
  oneOf: [
    textPart,
    part('image_url', { image_url: address }),
    part('input_audio', {
      input_audio: object(
        { data: text, format: among('wav', 'mp3', 'aiff', 'aac', 'ogg', 'flac', 'm4a', 'pcm16', 'pcm24') },
        ['data'],
      ),
    }),
    part('video_url', { video_url: address }),
    part('file', { file: object({ file_data: text, filename: text }, ['file_data']) }),
  ],
}

const instructions = (role: string) =>
  object({ role: among(role), name: orNull(text), content: { anyOf: [text, list(textPart)] } }, ['role', 'content'])

const messages = list(
  {
    anyOf: [
      object({ role: among('user'), name: orNull(text), content: { anyOf: [text, list(userParts)] } }, [
        'role',
        'content',
      ]),
      object(
        {
          role: among('assistant'),
          name: orNull(text),
          content: orNull({ anyOf: [text, list(textPart)] }),
          reasoning_content: orNull(text),
          reasoning_details: list(
            object({ type: text, id: text, index: number, format: text, data: text, text }, ['type']),
          ),
          tool_calls: orNull(list({})),
        },
        ['role'],
      ),
      object(
        {
          role: among('tool'),
          name: orNull(text),
          content: text,
          tool_call_id: text,
          reasoning_content: orNull(text),
          tool_calls: orNull(list({})),
        },
        ['role', 'content', 'tool_call_id'],
      ),
      instructions('system'),
      instructions('developer'),
    ],
  },
  { minItems: 1 },
)

const serviceParameters = object({
  character_slug: text,
  strip_thinking_response: flag,
  disable_thinking: flag,
  enable_e2ee: flag,
  enable_web_search: among('auto', 'off', 'on'),
  enable_web_scraping: flag,
  enable_web_citations: flag,
  enable_x_search: flag,
  include_search_results_in_stream: flag,
  return_search_results_as_documents: flag,
  include_service_system_prompt: flag,
})

const effort = among('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')
const verbosity = among('low', 'medium', 'high', 'auto')

const calledFunction = object({ name: text, description: text, parameters: mapOf({}), strict: flag }, ['name'])

const chatRequest = object(
  {
    model: text,
    messages,
    frequency_penalty: between(number, -2, 2),
    presence_penalty: between(number, -2, 2),
    repetition_penalty: atLeast(number, 0),
    logprobs: flag,
    top_logprobs: atLeast(whole, 0),
    max_completion_tokens: whole,
    max_tokens: whole,
    max_temp: between(number, 0, 2),
    min_temp: between(number, 0, 2),
    min_p: between(number, 0, 1),
    top_p: between(number, 0, 1),
    top_k: atLeast(whole, 0),
    temperature: between(number, 0, 2),
    n: whole,
    seed: { type: 'integer', exclusiveMinimum: 0 },
    stop: orNull({ anyOf: [text, list(text, { minItems: 1, maxItems: 4 })] }),
    stop_token_ids: list(number),
    stream: flag,
    stream_options: object({ include_usage: flag }),
    prompt_cache_key: text,
    prompt_cache_retention: among('default', 'extended', '24h'),
    reasoning: object({ effort, summary: among('auto', 'concise', 'detailed') }),
    reasoning_effort: effort,
    user: text,
    fallbacks: list(object({ model: text }, ['model']), { maxItems: 10 }),
    store: flag,
    verbosity,
    text: object({ verbosity }),
    include: list(text),
    metadata: mapOf(text),
    parallel_tool_calls: flag,
    response_format: {
      oneOf: [
        object({ type: among('json_schema'), json_schema: mapOf({}) }, ['type', 'json_schema']),
        object({ type: among('json_object') }, ['type']),
        object({ type: among('text') }, ['type']),
      ],
    },
    tool_choice: {
      anyOf: [object({ type: text, function: object({ name: text }, ['name']) }, ['type', 'function']), text],
    },
    tools: orNull(
      list({
        anyOf: [
          object({ type: among('web_search', 'x_search') }, ['type']),
          object({ type: text, id: text, function: calledFunction }, ['function']),
        ],
      }),
    ),
    service_parameters: serviceParameters,
  },
  ['model', 'messages'],
)

const seconds = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 25, 30].map(count => `${count}s`)

const priceInputs = {
  model: text,
  duration: among(...seconds, '1 gen', 'Auto'),
  aspect_ratio: among('1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '9:21', '16:9', '21:9'),
  resolution: among(
    ...['256p', '360p', '480p', '540p', '580p', '720p', '1080p', '1440p', '2160p', '4k', '2x', '4x', 'true_1080p'],
  ),
  upscale_factor: among(1, 2, 4),
  audio: flag,
  video_url: text,
}

const attestation = {
  confirmed_terms_and_privacy: among(true),
  confirmed_legal_right: among(true),
  confirmed_screening_acknowledged: among(true),
}

const videoRequest = object(
  {
    ...priceInputs,
    prompt: { type: 'string', minLength: 1, maxLength: 10_000 },
    negative_prompt: { type: 'string', maxLength: 10_000 },
    // By the key of a provider, which each service has its own of.
    consents: mapOf(object(attestation, Object.keys(attestation))),
    image_url: text,
    end_image_url: text,
    audio_url: text,
    reference_image_urls: list(text, { maxItems: 9 }),
    reference_video_urls: list(text, { maxItems: 3 }),
    reference_audio_urls: list(text, { maxItems: 3 }),
    elements: list(
      object({
        frontal_image_url: text,
        reference_image_urls: list(text, { maxItems: 3 }),
        video_url: text,
      }),
      { maxItems: 4 },
    ),
    scene_image_urls: list(text, { maxItems: 4 }),
  },
  ['model', 'prompt', 'duration'],
)

const queued = { model: text, queue_id: text }

const walletAddress = { type: 'string', pattern: '^(0x[a-fA-F0-9]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$' }

const [key, wallet] = ['authorization', 'sign-in-with-x']

export const publishedRequests: readonly PublishedRequest[] = [
  ...publishedMediaRequests,
  {
    method: 'GET',
    path: '/models',
    credentials: [key],
    query: {
      type: among('asr', 'embedding', 'image', 'music', 'text', 'tts', 'upscale', 'inpaint', 'video', 'all', 'code'),
    },
  },
  ...['/models/traits', '/models/compatibility_mapping'].map(path => ({
    method: 'GET' as const,
    path,
    credentials: [key],
    query: { type: among('asr', 'embedding', 'image', 'music', 'text', 'tts', 'upscale', 'inpaint', 'video') },
  })),
  {
    method: 'POST',
    path: '/chat/completions',
    credentials: [key, wallet],
    headers: ['accept-encoding'],
    body: chatRequest,
  },
  {
    method: 'POST',
    path: '/video/quote',
    credentials: [key],
    body: object({ ...priceInputs, reference_video_total_duration: atLeast(number, 0) }, ['model', 'duration']),
  },
  { method: 'POST', path: '/video/queue', credentials: [key, wallet], body: videoRequest },
  {
    method: 'POST',
    path: '/video/retrieve',
    credentials: [key, wallet],
    body: object({ ...queued, delete_media_on_completion: flag }, Object.keys(queued)),
  },
  {
    method: 'POST',
    path: '/augment/search',
    credentials: [key, wallet],
    body: object(
      {
        query: { type: 'string', minLength: 1, maxLength: 400 },
        limit: between(whole, 1, 20),
        search_provider: among('google', 'brave'),
      },
      ['query'],
    ),
  },
  {
    method: 'POST',
    path: '/embeddings',
    credentials: [key, wallet],
    headers: ['accept-encoding'],
    body: object(
      {
        model: text,
        input: { anyOf: [text, list(text, { minItems: 1, maxItems: 2048 })] },
        dimensions: atLeast(whole, 1),
        encoding_format: among('float', 'base64'),
        user: text,
      },
      ['model', 'input'],
    ),
  },
  {
    method: 'POST',
    path: '/crypto/rpc/{network}',
    credentials: [key, wallet],
    headers: ['idempotency-key'],
    params: { network: text },
    body: object(
      { jsonrpc: among('2.0'), method: { type: 'string', minLength: 1, maxLength: 128 }, params: list({}), id: whole },
      ['method'],
    ),
  },
  {
    method: 'GET',
    path: '/characters',
    credentials: [key],
    query: { search: { type: 'string', maxLength: 200 }, limit: between(whole, 1, 100) },
  },
  {
    method: 'GET',
    path: '/billing/usage-analytics',
    credentials: [key],
    query: { lookback: { type: 'string', pattern: '^[1-9]\\d{0,3}d$' } },
  },
  {
    method: 'POST',
    path: '/audio/voices',
    credentials: [key, wallet],
    form: object({ file: text, model: text }, ['file']),
  },
  { method: 'POST', path: '/augment/scrape', credentials: [key, wallet], body: object({ url: text }, ['url']) },
  {
    method: 'POST',
    path: '/augment/text-parser',
    credentials: [key, wallet],
    form: object({ file: text, response_format: among('json', 'text') }, ['file']),
  },
  { method: 'POST', path: '/video/complete', credentials: [key, wallet], body: object(queued, Object.keys(queued)) },
  { method: 'POST', path: '/x402/top-up', credentials: [], headers: ['payment-signature'], body: object({}) },
  { method: 'GET', path: '/x402/balance/{walletAddress}', credentials: [wallet], params: { walletAddress } },
  {
    method: 'GET',
    path: '/x402/transactions/{walletAddress}',
    credentials: [wallet],
    params: { walletAddress },
    query: { limit: between(whole, 1, 100), offset: orNull(atLeast(whole, 0)) },
  },
  { method: 'GET', path: '/api_keys/rate_limits', credentials: [key] },
  { method: 'GET', path: '/api_keys/rate_limits/log', credentials: [key] },
]
