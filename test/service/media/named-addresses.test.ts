import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { WebPages } from '#engines/web/web-pages.ts'
import { type OpenedService, openService } from '../open-service.ts'

/** G1: wherever a caller can name an address, a private one gets no request. */

let reached = 0
const canary = createServer((_request, response) => {
  reached++
  response.end('a secret')
})
const pages = new WebPages()
let service: OpenedService
let origin = ''
beforeAll(async () => {
  await new Promise<void>(resolve => canary.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(canary.address() as AddressInfo).port}`
  service = await openService({ pages, transcriber: { transcribe: async () => ({ transcript: 'x' }) } })
})
afterAll(async () => {
  await service.close()
  await pages.close()
  await new Promise(resolve => canary.close(resolve))
})

const chat = (part: object) => ({ model: 'demo-chat', max_tokens: 4, messages: [{ role: 'user', content: [part] }] })
const respond = (part: object) => ({
  model: 'demo-chat',
  max_output_tokens: 4,
  input: [{ type: 'message', role: 'user', content: [part] }],
})
const video = (change: object) => ({ model: 'demo-video', prompt: 'x', duration: '2s', resolution: '360p', ...change })

/** By the member that names it: an operation's path, and a body that names this address. */
const ways: Readonly<Record<string, (url: string) => [path: string, body: object]>> = {
  'createChatCompletion image_url': url => ['/chat/completions', chat({ type: 'image_url', image_url: { url } })],
  'createChatCompletion video_url': url => ['/chat/completions', chat({ type: 'video_url', video_url: { url } })],
  'createChatCompletion file_data': url => ['/chat/completions', chat({ type: 'file', file: { file_data: url } })],
  'createResponse image_url': url => ['/responses', respond({ type: 'input_image', image_url: url })],
  'createResponse file_data': url => ['/responses', respond({ type: 'input_file', file_data: url, filename: 'a' })],
  'editImage image': url => ['/image/edit', { prompt: 'x', image: url }],
  'multiEditImage images': url => ['/image/multi-edit', { prompt: 'x', images: [url] }],
  'upscaleImage image': url => ['/image/upscale', { image: url }],
  'backgroundRemoveImage image': url => ['/image/background-remove', { image: url }],
  'backgroundRemoveImage image_url': url => ['/image/background-remove', { image_url: url }],
  'webScrape url': url => ['/augment/scrape', { url }],
  'createVideoTranscription url': url => ['/video/transcriptions', { url }],
  'quoteVideo video_url': url => [
    '/video/quote',
    { model: 'demo-video', duration: '2s', resolution: '360p', video_url: url },
  ],
  'queueVideo video_url': url => ['/video/queue', video({ video_url: url })],
  'queueVideo image_url': url => ['/video/queue', video({ image_url: url })],
  'queueVideo end_image_url': url => ['/video/queue', video({ end_image_url: url })],
  'queueVideo audio_url': url => ['/video/queue', video({ audio_url: url })],
  'queueVideo reference_image_urls': url => ['/video/queue', video({ reference_image_urls: [url] })],
  'queueVideo reference_video_urls': url => ['/video/queue', video({ reference_video_urls: [url] })],
  'queueVideo reference_audio_urls': url => [
    '/video/queue',
    video({ reference_audio_urls: [url], reference_image_urls: [url] }),
  ],
  'queueVideo frontal_image_url': url => ['/video/queue', video({ elements: [{ frontal_image_url: url }] })],
  'queueVideo scene_image_urls': url => ['/video/queue', video({ scene_image_urls: [url] })],
}

interface Described {
  properties?: Record<string, Described>
  items?: Described
  anyOf?: Described[]
  oneOf?: Described[]
  allOf?: Described[]
  $defs?: Record<string, Described>
}

const namesAnAddress = /(^|_)urls?$|^images?$|^file_data$/

function membersOf(schema: Described, found: Set<string> = new Set()): Set<string> {
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    if (namesAnAddress.test(name)) found.add(name)
    membersOf(member, found)
  }
  const inner = [schema.anyOf, schema.oneOf, schema.allOf, Object.values(schema.$defs ?? {})].flatMap(
    each => each ?? [],
  )
  for (const each of schema.items ? [...inner, schema.items] : inner) membersOf(each, found)
  return found
}

test('every member that sounds like an address stands below', () => {
  const members = (operations as readonly Operation[]).flatMap(({ id, request: { body } }) => {
    if (!body) return []
    const schema = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }) as Described
    return [...membersOf(schema)].map(name => `${id} ${name}`)
  })
  // Within a part, a member of the same name holds the object around it.
  expect(members.filter(each => !ways[each] && !each.endsWith(' url'))).toEqual([])
})

test.each(Object.keys(ways))('G1 %s', async name => {
  const key = await service.key(5)
  for (const spelling of [
    origin,
    origin.replace('127.0.0.1', '2130706433'),
    origin.replace('127.0.0.1', 'localhost'),
  ]) {
    const [path, body] = ways[name]?.(`${spelling}/a.png`) ?? ['', {}]
    const response = await service.post(path, body, key)
    await response.arrayBuffer()
    expect([path, response.status < 500]).toEqual([path, true])
  }
  expect(reached).toBe(0)
})
