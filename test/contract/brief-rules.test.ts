import { expect, test } from 'vitest'
import type { z } from 'zod'
import { abuseBlock, downloadUrlMs, otherLimits, textLimits, topUpUsd } from '#contract/limits.ts'
import { ChatCompletionRequest } from '#contract/operations/chat.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { ServiceParameters } from '#contract/operations/service-parameters.ts'
import {
  UpscaleFactor,
  VideoAspectRatio,
  VideoDuration,
  VideoQueued,
  VideoQueueRequest,
  VideoResolution,
} from '#contract/operations/video.ts'
import { TopUpResult } from '#contract/operations/wallet.ts'
import { usdcDecimals } from '#contract/wire/networks.ts'
import { PaymentOption, TopUpRequired } from '#contract/wire/payment.ts'
import { agreed } from '../agreed.ts'

/** Each row is a sentence of the brief; the literals are its own, not ours. */

const video = { model: 'm', prompt: 'A boat', duration: '5s' }
const image = 'https://files.example/a.png'
const clip = 'data:video/mp4;base64,AAAA'
const audioFile = 'data:audio/mpeg;base64,AAAA'
const many = (count: number, item: unknown = image) => Array.from({ length: count }, () => item)
const taken = true
const refused = false

test.each([
  ['§2.6', 'the least of it', {}, taken],
  ['§2.6', 'a prompt of one character', { prompt: 'x' }, taken],
  ['§2.6', 'a prompt of 10000 characters', { prompt: 'x'.repeat(10_000) }, taken],
  ['§2.6', 'a prompt of 10001 characters', { prompt: 'x'.repeat(10_001) }, refused],
  ['§2.6', 'an empty prompt', { prompt: '' }, refused],
  ['§2.6', 'no prompt', { prompt: undefined }, refused],
  ['§2.6', 'no model', { model: undefined }, refused],
  ['§2.6', 'no duration', { duration: undefined }, refused],
  ['§2.6', 'a duration as a number', { duration: 5 }, refused],
  ['§2.6', 'a duration between two', { duration: '17s' }, refused],
  ['§2.6', 'a duration in another case', { duration: 'auto' }, refused],
  ['§2.6', 'a negative prompt of 10000', { negative_prompt: 'x'.repeat(10_000) }, taken],
  ['§2.6', 'a negative prompt of 10001', { negative_prompt: 'x'.repeat(10_001) }, refused],
  ['§2.6', 'an empty negative prompt', { negative_prompt: '' }, taken],
  ['§2.6', 'a ratio of no list', { aspect_ratio: '5:3' }, refused],
  ['§2.6', 'a resolution of no list', { resolution: '800p' }, refused],
  ['§2.6', 'upscale by 3', { upscale_factor: 3 }, refused],
  ['§2.6', 'upscale by a text', { upscale_factor: '2' }, refused],
  ['§2.6', 'audio as a text', { audio: 'true' }, refused],
  ['§2.6', 'an image by http', { image_url: 'http://files.example/a.png' }, taken],
  ['§2.6', 'an image by https in capitals', { image_url: 'HTTPS://files.example/a.png' }, taken],
  ['§2.6', 'an image as data', { image_url: 'data:image/png;base64,AAAA' }, taken],
  ['§2.6', 'an image of the disk', { image_url: 'file:///etc/passwd' }, refused],
  ['§2.6', 'an image by no scheme', { image_url: '//files.example/a.png' }, refused],
  ['§2.6', 'a page as data', { image_url: 'data:text/html,hello' }, refused],
  ['§2.6', 'an image that is a video', { image_url: clip }, refused],
  ['§2.6', 'music that is an image', { audio_url: 'data:image/png;base64,AAAA' }, refused],
  ['§2.6', 'a video that is music', { video_url: audioFile }, refused],
  ['§2.6', 'an end frame', { end_image_url: image }, taken],
  ['§2.6', 'music', { audio_url: audioFile }, taken],
  ['§2.6', 'a video', { video_url: clip }, taken],
  ['§2.6', '9 reference images', { reference_image_urls: many(9) }, taken],
  ['§2.6', '10 reference images', { reference_image_urls: many(10) }, refused],
  ['§2.6', '3 reference videos', { reference_video_urls: many(3, clip) }, taken],
  ['§2.6', '4 reference videos', { reference_video_urls: many(4, clip) }, refused],
  [
    '§2.6',
    '3 reference sounds beside an image',
    { reference_audio_urls: many(3, audioFile), reference_image_urls: many(1) },
    taken,
  ],
  ['§2.6', '4 reference sounds', { reference_audio_urls: many(4, audioFile), reference_image_urls: many(1) }, refused],
  [
    '§2.6',
    'a reference sound beside a reference video',
    { reference_audio_urls: [audioFile], reference_video_urls: [clip] },
    taken,
  ],
  ['§7.4', 'a reference sound alone', { reference_audio_urls: [audioFile] }, refused],
  [
    '§7.4',
    'a reference sound beside an empty list',
    { reference_audio_urls: [audioFile], reference_image_urls: [] },
    refused,
  ],
  [
    '§7.4',
    'a reference sound beside a first frame only',
    { reference_audio_urls: [audioFile], image_url: image },
    refused,
  ],
  ['§2.6', 'no reference sound, said by an empty list', { reference_audio_urls: [] }, taken],
  ['§2.6', '4 elements', { elements: many(4, { frontal_image_url: image, reference_image_urls: many(3) }) }, taken],
  ['§2.6', '5 elements', { elements: many(5, { frontal_image_url: image }) }, refused],
  ['§2.6', '4 scenes', { scene_image_urls: many(4) }, taken],
  ['§2.6', '5 scenes', { scene_image_urls: many(5) }, refused],
  ['§2.6', 'a list of one that is not a list', { scene_image_urls: image }, refused],
  ['§1.4', 'an unknown field', { camera_motion: { pan: 3 } }, taken],
  ['§1.4', 'an unknown field, in an element', { elements: [{ frontal_image_url: image, weight: 1 }] }, taken],
  ['§3.2', 'a consent', { consents: { anybody: agreed } }, taken],
  ['§3.2', 'a consent with an unknown field', { consents: { anybody: { ...agreed, consent_version: 'v2' } } }, refused],
  ['§3.2', 'a consent that is false', { consents: { anybody: { ...agreed, confirmed_legal_right: false } } }, refused],
  [
    '§3.2',
    'a consent with one word less',
    { consents: { anybody: { ...agreed, confirmed_legal_right: undefined } } },
    refused,
  ],
  ['§3.2', 'a consent as a word', { consents: { anybody: true } }, refused],
])('queue %s: %s', (_, _what, change, expected) => {
  expect(VideoQueueRequest.safeParse({ ...video, ...change }).success).toBe(expected)
})

test('§2.6, the values of every choice', () => {
  expect(VideoDuration.options).toEqual(
    '2s,3s,4s,5s,6s,7s,8s,9s,10s,11s,12s,13s,14s,15s,16s,18s,20s,25s,30s,1 gen,Auto'.split(','),
  )
  expect(VideoAspectRatio.options).toEqual('1:1,2:3,3:2,3:4,4:3,4:5,5:4,9:16,9:21,16:9,21:9'.split(','))
  expect(VideoResolution.options).toEqual(
    '256p,360p,480p,540p,580p,720p,1080p,1440p,2160p,4k,2x,4x,true_1080p'.split(','),
  )
  expect([...UpscaleFactor.values]).toEqual([1, 2, 4])
})

const hello = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] }
const saying = (role: string, content: unknown) => ({ messages: [{ role, content }] })

test.each([
  ['§4.3', 'a user', {}, taken],
  ['§4.3', 'a system prompt', saying('system', 'Be brief.'), taken],
  ['§4.3', 'text in parts', saying('user', [{ type: 'text', text: 'Hello' }]), taken],
  ['§4.3', 'an image', saying('user', [{ type: 'image_url', image_url: { url: image } }]), taken],
  ['§4.3', 'audio', saying('user', [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }]), taken],
  ['§4.3', 'a video', saying('user', [{ type: 'video_url', video_url: { url: clip } }]), taken],
  ['§4.3', 'an unknown role', saying('human', 'Hello'), refused],
  ['§4.3', 'no model', { model: undefined }, refused],
  ['§4.3', 'no message', { messages: [] }, refused],
  [
    '§2.8',
    'a cached part',
    saying('system', [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }]),
    taken,
  ],
  ['§2.8', 'a cache key', { prompt_cache_key: 'thread-7' }, taken],
  ['§2.8', 'a cache key that is a number', { prompt_cache_key: 7 }, refused],
  ['§1.4', 'an unknown field', { mirostat: 2 }, taken],
  ['§1.4', 'an unknown field, in a message', { messages: [{ role: 'user', content: 'x', mood: 'calm' }] }, taken],
  ['§1.4', 'an unknown field, in the options', { service_parameters: { enable_time_travel: true } }, taken],
])('chat %s: %s', (_, _what, change, expected) => {
  expect(ChatCompletionRequest.safeParse({ ...hello, ...change }).success).toBe(expected)
})

test.each([
  ['character_slug', ['a-pirate'], [1, '']],
  ['strip_thinking_response', [true, false], ['true', 1]],
  ['disable_thinking', [true, false], ['false']],
  ['enable_web_search', ['off', 'on', 'auto'], ['OFF', true, 'maybe']],
  ['enable_web_scraping', [true, false], ['on']],
  ['enable_x_search', [true, false], ['on']],
  ['enable_web_citations', [true, false], ['on']],
  ['include_search_results_in_stream', [true, false], ['on']],
  ['return_search_results_as_documents', [true, false], ['on']],
  ['include_service_system_prompt', [true, false], ['on']],
])('§2.8: %s', (name, right, wrong) => {
  for (const value of right) expect(ServiceParameters.parse({ [name]: value })).toEqual({ [name]: value })
  for (const value of wrong) expect(ServiceParameters.safeParse({ [name]: value }).success).toBe(false)
})

const option = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '5000000',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: `0x${'1'.repeat(40)}`,
  maxTimeoutSeconds: 300,
}
const credited = { walletAddress: option.payTo, amountCredited: 5, newBalance: 5, paymentId: 'p' }
const queued = { model: 'm', queue_id: '0190d2f0-0000-7000-8000-000000000000' }

test.each<[string, string, z.ZodType, unknown, boolean]>([
  ['§2.1', 'a top-up', TopUpResult, { success: true, data: credited }, taken],
  ['§2.1', 'a top-up without success', TopUpResult, { success: false, data: credited }, refused],
  ['§2.1', 'a top-up with extra data', TopUpResult, { success: true, data: { ...credited, note: 'x' } }, refused],
  ['§2.1', 'a top-up with more beside it', TopUpResult, { success: true, data: credited, note: 'x' }, refused],
  [
    '§2.1',
    'a top-up without its id',
    TopUpResult,
    { success: true, data: { ...credited, paymentId: undefined } },
    refused,
  ],
  ['§2.2', 'requirements', TopUpRequired, { x402Version: 2, accepts: [option] }, taken],
  ['§2.2', 'requirements of another version', TopUpRequired, { x402Version: 1, accepts: [option] }, refused],
  ['§2.2', 'requirements with more beside them', TopUpRequired, { x402Version: 2, accepts: [], error: 'x' }, refused],
  [
    '§2.2',
    'an option with its metadata',
    PaymentOption,
    { ...option, extra: { feePayer: 'x', name: 'USD Coin' } },
    taken,
  ],
  ['§2.2', 'an option of another scheme', PaymentOption, { ...option, scheme: 'upto' }, refused],
  ['§2.2', 'an option with more in it', PaymentOption, { ...option, description: 'x' }, refused],
  ['§2.2', 'an option in dollars', PaymentOption, { ...option, amount: '5.00' }, refused],
  ['§2.2', 'an option with a number', PaymentOption, { ...option, amount: 5_000_000 }, refused],
  ['§2.7', 'a queued video', VideoQueued, queued, taken],
  ['§2.7', 'a queued video with its address', VideoQueued, { ...queued, download_url: image }, taken],
  ['§2.7', 'a queued video without its id', VideoQueued, { model: 'm' }, refused],
])('answers %s: %s', (_, _what, schema, value, expected) => {
  expect(schema.safeParse(value).success).toBe(expected)
})

const perMinute = (requestsPerMinute: number, tokensPerMinute: number) => ({ requestsPerMinute, tokensPerMinute })

test('§8.1 and §8.3, text models by tier', () => {
  expect(textLimits).toEqual({
    default: {
      XS: perMinute(500, 1_000_000),
      S: perMinute(75, 750_000),
      M: perMinute(50, 750_000),
      L: perMinute(20, 500_000),
    },
    partner: {
      XS: perMinute(500, 2_000_000),
      S: perMinute(150, 1_500_000),
      M: perMinute(100, 1_500_000),
      L: perMinute(60, 1_000_000),
    },
  })
})

test.each([
  ['image', 20, 60],
  ['audio', 60, 120],
  ['embedding', 500, 500],
  // The brief shows none for partners, who are not worse off than others.
  ['video.queue', 40, 40],
  ['video.retrieve', 120, 120],
  ['audio.queue', 40, 40],
  ['audio.retrieve', 120, 120],
] as const)('§8.2 and §8.3: %s', (name, ordinary, partner) => {
  expect(otherLimits.default[name]).toEqual({ requestsPerMinute: ordinary })
  expect(otherLimits.partner[name]).toEqual({ requestsPerMinute: partner })
})

test('§7.3 and §8.5, the other constants', () => {
  expect(abuseBlock).toEqual({ failures: 20, windowMs: 30_000, blockMs: 30_000 })
  expect(topUpUsd.minimum).toBe(5)
  expect(usdcDecimals).toBe(6)
  expect(downloadUrlMs).toBe(24 * 3600 * 1000)
})

test('§1.4, every JSON body accepts unknown members', () => {
  const bodies = (operations as readonly Operation[]).flatMap(({ id, request }) =>
    request.body ? [[id, request.body] as const] : [],
  )
  expect(bodies.length).toBeGreaterThan(5)
  for (const [id, body] of bodies) {
    const parsed = body.safeParse({ strange_member: 1 })
    const codes = parsed.success ? [] : parsed.error.issues.map(issue => issue.code)
    expect([id, ...codes]).not.toContain('unrecognized_keys')
    if (parsed.success) expect(parsed.data).toHaveProperty('strange_member', 1)
  }
})

test('§5.2, every operation that costs takes a key or a wallet', () => {
  for (const { id, auth, charge } of operations as readonly Operation[]) {
    if (charge === 'usage' || charge === 'quote') expect([id, ...auth]).toEqual([id, 'apiKey', 'wallet'])
  }
})
