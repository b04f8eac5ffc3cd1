import { expect, test } from 'vitest'
import type { z } from 'zod'
import { describeIssues } from '#contract/errors/issues.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { listModels } from '#contract/operations/models.ts'
import { completeVideo, queueVideo, quoteVideo, retrieveVideo } from '#contract/operations/video.ts'
import { getWalletBalance, getWalletTransactions } from '#contract/operations/wallet.ts'
import { agreed } from '../agreed.ts'

/** An answer to a request that breaks a rule of the brief names the field, in the flat and the nested list. */
function expectNamed(schema: z.ZodType, request: unknown, field: string): void {
  const parsed = schema.safeParse(request)
  expect(parsed.success).toBe(false)
  if (parsed.success) return
  const { details, issues } = describeIssues(parsed.error, request)
  expect(issues?.map(({ path }) => (path as (string | number)[]).join('.'))).toEqual([field])
  const level = field.split('.').reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], details)
  expect(level).toEqual({ _errors: [expect.stringMatching(/./)] })
}

type Row = [rule: string, change: Record<string, unknown>, field: string]

const url = 'https://example.com/a.png'
const many = (count: number, item: unknown = url) => Array.from({ length: count }, () => item)
const consents = (demo: unknown) => ({ consents: { demo } })

const videoRows: Row[] = [
  ['§2.6', { model: undefined }, 'model'],
  ['§2.6', { model: '' }, 'model'],
  ['§2.6', { prompt: undefined }, 'prompt'],
  ['§2.6', { prompt: '' }, 'prompt'],
  ['§2.6', { prompt: 'a'.repeat(10_001) }, 'prompt'],
  ['§2.6', { duration: undefined }, 'duration'],
  ['§2.6', { duration: '17s' }, 'duration'],
  ['§2.6', { negative_prompt: 'a'.repeat(10_001) }, 'negative_prompt'],
  ['§2.6', { aspect_ratio: '1:2' }, 'aspect_ratio'],
  ['§2.6', { resolution: '4K' }, 'resolution'],
  ['§2.6', { upscale_factor: 3 }, 'upscale_factor'],
  ['§2.6', { audio: 'true' }, 'audio'],
  ['§2.6', { image_url: 'file:///etc/passwd' }, 'image_url'],
  ['§2.6', { end_image_url: 'a.png' }, 'end_image_url'],
  ['§2.6', { audio_url: 5 }, 'audio_url'],
  ['§2.6', { video_url: '' }, 'video_url'],
  ['§2.6', { reference_image_urls: many(10) }, 'reference_image_urls'],
  ['§2.6', { reference_image_urls: [url, 'a.png'] }, 'reference_image_urls.1'],
  ['§2.6', { reference_video_urls: many(4) }, 'reference_video_urls'],
  ['§2.6', { reference_audio_urls: many(4), reference_image_urls: many(1) }, 'reference_audio_urls'],
  ['§7.4', { reference_audio_urls: many(1) }, 'reference_audio_urls'],
  ['§2.6', { elements: many(5, {}) }, 'elements'],
  ['§2.6', { elements: [{}, { frontal_image_url: 5 }] }, 'elements.1.frontal_image_url'],
  ['§2.6', { scene_image_urls: many(5) }, 'scene_image_urls'],
  ['§3.2', consents(true), 'consents.demo'],
  ['§3.2', consents({ ...agreed, consent_version: 'v2' }), 'consents.demo'],
  ['§3.2', consents({ ...agreed, confirmed_legal_right: false }), 'consents.demo.confirmed_legal_right'],
  ['§3.2', consents({ ...agreed, confirmed_legal_right: undefined }), 'consents.demo.confirmed_legal_right'],
]

test.each(videoRows)('%s queue a video: %o', (_, change, field) => {
  expectNamed(queueVideo.request.body, { model: 'v', prompt: 'A boat', duration: '5s', ...change }, field)
})

const saying = (role: string, message: object) => ({ messages: [{ role, ...message }] })
const part = (content: object) => saying('user', { content: [content] })

const chatRows: Row[] = [
  ['§4.3', { model: undefined }, 'model'],
  ['§4.3', { messages: undefined }, 'messages'],
  ['§4.3', { messages: [] }, 'messages'],
  ['§4.3', saying('wizard', { content: 'x' }), 'messages.0.role'],
  ['§4.3', saying('user', {}), 'messages.0.content'],
  ['§4.3', saying('tool', { content: '1' }), 'messages.0.tool_call_id'],
  ['§4.3', part({ type: 'hologram' }), 'messages.0.content.0.type'],
  ['§4.3', part({ type: 'image_url' }), 'messages.0.content.0.image_url'],
  [
    '§4.3',
    part({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mid' } }),
    'messages.0.content.0.input_audio.format',
  ],
  [
    '§2.8',
    part({ type: 'text', text: 'a', cache_control: { type: 'forever' } }),
    'messages.0.content.0.cache_control.type',
  ],
  ['§2.8', { service_parameters: { enable_web_search: true } }, 'service_parameters.enable_web_search'],
  ['§2.8', { service_parameters: { disable_thinking: 'true' } }, 'service_parameters.disable_thinking'],
  ['§2.8', { prompt_cache_key: 7 }, 'prompt_cache_key'],
  ['§1.2', { temperature: 2.1 }, 'temperature'],
  ['§1.2', { max_tokens: 0 }, 'max_tokens'],
  ['§1.2', { max_completion_tokens: 1.5 }, 'max_completion_tokens'],
  ['§1.2', { stop: ['a', 5] }, 'stop.1'],
  ['§1.2', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
  ['§1.2', { tools: [{ type: 'function', function: {} }] }, 'tools.0.function.name'],
  ['§1.2', { stream: 'yes' }, 'stream'],
]

test.each(chatRows)('%s chat: %o', (_, change, field) => {
  const chat = { model: 'm', messages: [{ role: 'user', content: 'Hello' }], ...change }
  expectNamed(createChatCompletion.request.body, chat, field)
})

test.each<[string, z.ZodType, unknown, string]>([
  ['a quote without a duration', quoteVideo.request.body, { model: 'v' }, 'duration'],
  [
    'a quote of another ratio',
    quoteVideo.request.body,
    { model: 'v', duration: '5s', aspect_ratio: '2:1' },
    'aspect_ratio',
  ],
  ['retrieve without its id', retrieveVideo.request.body, { model: 'v' }, 'queue_id'],
  ['complete without a model', completeVideo.request.body, { queue_id: 'q' }, 'model'],
  ['models of no known type', listModels.request.query, { type: 'dance' }, 'type'],
  ['no wallet', getWalletBalance.request.params, { walletAddress: '0x12' }, 'walletAddress'],
  ['a page that is too long', getWalletTransactions.request.query, { limit: '101' }, 'limit'],
  ['a page before the first', getWalletTransactions.request.query, { offset: '-1' }, 'offset'],
  ['a page that is not a number', getWalletTransactions.request.query, { limit: 'all' }, 'limit'],
])('§4.3 %s', (_, schema, request, field) => {
  expectNamed(schema, request, field)
})

test('what is left out has its default, and a page may come as text', () => {
  expect(listModels.request.query.parse({})).toEqual({ type: 'text' })
  expect(getWalletTransactions.request.query.parse({})).toEqual({ limit: 50, offset: 0 })
  expect(getWalletTransactions.request.query.parse({ limit: '100', offset: '7' })).toEqual({ limit: 100, offset: 7 })
  expect(retrieveVideo.request.body.parse({ model: 'v', queue_id: 'q' })).toHaveProperty(
    'delete_media_on_completion',
    false,
  )
})
