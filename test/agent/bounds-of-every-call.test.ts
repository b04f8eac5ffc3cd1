/** Compares the wallet's maximum prices of all calls but chats with what our service charges for them. */

import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { askedAbout } from '#agent/calls/about-request.ts'
import { ModelRecords } from '#agent/prices/model-records.ts'
import { priceCall, pricers } from '#agent/prices/price-call.ts'
import { Client } from '#client/client.ts'
import { writeRequest } from '#client/wire/write-request.ts'
import { microUsd } from '#contract/money.ts'
import { createSpeech, createTranscription, queueAudio } from '#contract/operations/audio.ts'
import { createTextParser } from '#contract/operations/documents.ts'
import { backgroundRemoveImage, editImage, multiEditImage, upscaleImage } from '#contract/operations/images.ts'
import { modelsNamed } from '#contract/operations/models.ts'
import { type CallOf, isPaid, type Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { createResponse } from '#contract/operations/responses.ts'
import { cryptoRpcProxy } from '#contract/operations/rpc.ts'
import { createVideoTranscription } from '#contract/operations/video.ts'
import { webScrape, webSearch } from '#contract/operations/web.ts'
import type { ChainNode } from '#engines/ports/engine.ts'
import { demoModels, demoMusic } from '#service/models/demo-models.ts'
import type { Model } from '#service/models/model.ts'
import { colouredPng, ScriptedImages, scriptedModels } from '../service/image-models.ts'
import { type OpenedService, openService, TestClock } from '../service/open-service.ts'
import { ScriptedSpeech, ScriptedTranscription } from '../service/scripted-audio.ts'
import { wavOfChunks } from '../service/wav-of-chunks.ts'

/** Some hundred calls of a whole service. */
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const copies = 5
const sampled = fc.sample(fc.bigInt({ min: 0n, max: 900_000_000n }), { numRuns: copies * 4, seed: 20_261_122 })
const price = (index: number): bigint => sampled[index % sampled.length] ?? 0n
const micro = (index: number) => microUsd(price(index) / 1_000n)

const underWay = async () => ({ state: 'running', engineState: { at: 1 } }) as const
const music = { carries: () => true, start: underWay, poll: underWay }
const audio = { speech: new ScriptedSpeech(), words: new ScriptedTranscription() }

const types = ['inpaint', 'upscale', 'tts', 'asr', 'music'] as const

/** The same model at other prices. */
function repriced(model: Model, index: number): Model {
  const named = { id: `${model.type}-${index}`, traits: [] }
  switch (model.type) {
    case 'inpaint': {
      const resolutions = { '1K': micro(index), '2K': micro(index + 1) }
      const price = {
        perImageMicroUsd: micro(index + 2),
        resolutions,
        quality: { '2K': { high: micro(index + 3) } },
      }
      return { ...model, ...named, price }
    }
    case 'upscale':
      return { ...model, ...named, price: { twiceMicroUsd: micro(index), fourTimesMicroUsd: micro(index + 1) } }
    case 'tts':
      return { ...model, ...named, engine: audio.speech, price: { perCharacterPicoUsd: price(index) } }
    case 'asr':
      return { ...model, ...named, engine: audio.words, price: { perSecondPicoUsd: price(index) } }
    case 'music': {
      const per = (['generation', 'second', 'thousand-characters'] as const)[index % 3] ?? 'second'
      return { ...model, ...named, price: { per, microUsd: micro(index) } }
    }
    default:
      return model
  }
}

const node: ChainNode = {
  ask: async ({ calls }) =>
    calls.map(({ method }) =>
      method === 'eth_call' ? { error: { code: -1, message: 'refused' } } : { result: '0x1' },
    ),
}
const page = { title: 'A page', content: '# A page' }
const web = { search: async () => [], read: async () => page }
const clock = new TestClock()

let service: OpenedService
let client: Client
let models: ModelRecords
let imageFile: File
beforeAll(async () => {
  service = await openService({
    ...{ search: web, pages: web, clock },
    models: engines => {
      const own = [...scriptedModels(new ScriptedImages()), demoMusic(music), ...demoModels(engines)]
      const firsts = types.flatMap(type => own.find(model => model.type === type) ?? [])
      return [...own, ...firsts.flatMap(model => Array.from({ length: copies }, (_, each) => repriced(model, each)))]
    },
    networks: [
      { slug: 'a-rollup', node, baseCredits: 30 },
      { slug: 'a-chain', node },
    ],
    transcriber: { transcribe: async () => ({ transcript: 'Hello.' }) },
    fetcher: {
      fetch: async ({ url }) => ({
        url,
        mimeType: 'video/mp4',
        charset: null,
        bytes: Buffer.from('\0\0\0\x18ftypisom'),
      }),
    },
  })
  const apiKey = await service.key(100_000)
  client = new Client({
    baseUrl: 'http://127.0.0.1:8402/api/v1',
    credential: { apiKey },
    fetch: request => service.service.app.fetch(request),
    clock,
  })
  models = new ModelRecords(client)
  imageFile = new File([new Uint8Array(await colouredPng(20, 10))], 'a.png')
  credential = apiKey
})
beforeEach(() => clock.pass(120_000))
afterAll(async () => {
  await client.close()
  await service.close()
})
let credential = ''

const charges = async () => {
  const rows = await service.store.read.selectFrom('entry').selectAll().where('kind', '=', 'CHARGE').execute()
  return rows.reduce((sum, { amount }) => sum + amount, 0n)
}

/** What the wallet says of a call, and what the service then took for it. */
async function compared<O extends Operation>(operation: O, body: unknown, params?: object) {
  // The limits of a minute are not of interest here.
  clock.pass(120_000)
  const { amountMicroUsd, what } = await priceCall(client, models, operation, body)
  const before = await charges()
  const call = { params, query: undefined, body } as unknown as CallOf<O>
  const written = await writeRequest('/api/v1', operation, call, 'service')
  const response = await service.request(written.url, {
    method: written.method,
    headers: { ...written.headers, authorization: `Bearer ${credential}` },
    ...(written.body === undefined ? {} : { body: Buffer.from(written.body as string) }),
  })
  const answer = Buffer.from(await response.arrayBuffer())
  const charged = (await charges()) - before
  return { bound: amountMicroUsd, charged, what, status: response.status, answer: answer.toString('latin1', 0, 300) }
}

const index = fc.nat({ max: copies - 1 })
const anyText = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 })
const seconds = fc.tuple(
  fc.constantFrom(8_000, 11_025, 16_000, 44_100, 48_000),
  fc.integer({ min: 3_000, max: 250_000 }),
)

test('every operation that costs is priced and named', () => {
  expect(
    operations
      .filter(isPaid)
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual([...pricers.keys()].toSorted())
})

test('no edit is charged more than its bound', async () => {
  const choices = fc.record(
    {
      resolution: fc.constantFrom('1K', '2K'),
      quality: fc.constant('high' as const),
      aspect_ratio: fc.constant('1:1' as const),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(index, choices, fc.boolean(), async (which, choice, isOne) => {
      const asked = { model: `inpaint-${which}`, prompt: 'a red sky', ...choice }
      const { bound, charged, status, answer } = isOne
        ? await compared(editImage, { ...asked, image: imageFile })
        : await compared(multiEditImage, { ...asked, images: [imageFile, imageFile] })
      expect([status, answer]).toEqual([200, expect.anything()])
      expect(charged).toBeLessThanOrEqual(bound ?? -1n)
    }),
    { numRuns: 30 },
  )
})

test('a larger image is charged what its bound says, at every scale', async () => {
  await fc.assert(
    fc.asyncProperty(index, fc.constantFrom(undefined, 1.5, 2, 2.5, 3, 4), async (which, scale) => {
      const asked = { model: `upscale-${which}`, image: imageFile, ...(scale === undefined ? {} : { scale }) }
      const { bound, charged, status } = await compared(upscaleImage, asked)
      expect([status, charged]).toEqual([200, bound])
    }),
    { numRuns: 20 },
  )
})

test.each([
  ['cutter', 30_000n],
  ['demo-background', 10_000n],
])('an image without its background is charged what the list of such models says of %s', async (model, charged) => {
  expect(await compared(backgroundRemoveImage, { model, image: imageFile })).toMatchObject({
    ...{ status: 200, bound: charged, charged },
  })
})

test('no speech is charged more than its bound, which is what plain text costs', async () => {
  await fc.assert(
    fc.asyncProperty(index, anyText, async (which, input) => {
      const { bound, charged, status } = await compared(createSpeech, { model: `tts-${which}`, input })
      expect(status).toBe(200)
      expect(charged).toBeLessThanOrEqual(bound ?? -1n)
      if (Buffer.byteLength(input) === input.length) expect(charged).toBe(bound)
    }),
    { numRuns: 40 },
  )
})

test('no transcript of a WAV is charged more than its bound, nor much less', async () => {
  await fc.assert(
    fc.asyncProperty(index, seconds, async (which, [rate, bytes]) => {
      const file = new File([new Uint8Array(wavOfChunks({ rate }, [bytes * 2]))], 'a.wav')
      const { bound, charged, status, answer } = await compared(createTranscription, { model: `asr-${which}`, file })
      expect([status, answer]).toEqual([200, expect.anything()])
      expect(charged).toBeLessThanOrEqual(bound ?? -1n)
      // Two seconds: one that has begun, and one that a reader may count more.
      expect(bound ?? -1n).toBeLessThanOrEqual(charged + (2n * price(which)) / 1_000_000n + 1n)
    }),
    { numRuns: 20 },
  )
})

test('music is charged what its quote says', async () => {
  await fc.assert(
    fc.asyncProperty(
      index,
      fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
      anyText,
      async (which, length, prompt) => {
        const asked = { model: `music-${which}`, prompt, ...(length === undefined ? {} : { duration_seconds: length }) }
        const { bound, charged, status } = await compared(queueAudio, asked)
        expect([status, charged]).toEqual([200, bound])
      },
    ),
    { numRuns: 25 },
  )
})

test.each([
  ['a search', webSearch, { query: 'fares', limit: 20 }],
  ['a page', webScrape, { url: 'https://example.com/' }],
  ['a document', createTextParser, { file: new File(['Two words'], 'a.txt') }],
  ['a transcript of a video', createVideoTranscription, { url: 'https://example.com/a.mp4' }],
] as const)('%s is charged what the contract says', async (_rule, operation, body) => {
  expect(await compared(operation, body)).toMatchObject({ status: 200, bound: 10_000n, charged: 10_000n })
})

test('no calls to a node are charged more than their bound, with any method on any network', async () => {
  const method = fc.constantFrom('eth_chainId', 'eth_getLogs', 'trace_block', 'eth_call')
  const calls = fc.oneof(fc.record({ method }), fc.array(fc.record({ method }), { minLength: 1, maxLength: 100 }))
  await fc.assert(
    fc.asyncProperty(calls, fc.constantFrom('a-rollup', 'a-chain'), async (body, network) => {
      const { bound, charged, status } = await compared(cryptoRpcProxy, body, { network })
      expect(status).toBe(200)
      expect(charged).toBeLessThanOrEqual(bound ?? -1n)
    }),
    { numRuns: 30 },
  )
})

test('a model that is not named has the price of the default', async () => {
  const [meant] = modelsNamed(await models.all(), 'upscale', 'default')
  expect(meant).toBeDefined()
  const priceOf = (body: object) => priceCall(client, models, upscaleImage, { image: imageFile, scale: 4, ...body })
  const { amountMicroUsd, what } = await priceOf({})
  expect(amountMicroUsd).toBe((await priceOf({ model: meant?.id })).amountMicroUsd)
  expect(what).toBe('An upscaled image by the default model')
})

test('where no model of a type is the default, one that is not named costs at most what the most expensive does', async () => {
  const records = (await models.all()).filter(({ type }) => type === 'upscale')
  const without = records.map(record => ({ ...record, model_spec: { ...record.model_spec, traits: [] } }))
  const listing = { allFor: async () => without, otherNames: async () => ({}) } as unknown as ModelRecords
  const each = await Promise.all(
    records.map(({ id }) => priceCall(client, models, upscaleImage, { model: id, image: imageFile, scale: 4 })),
  )
  const highest = each.reduce((most, { amountMicroUsd: amount }) => (amount && amount > most ? amount : most), 0n)
  const { amountMicroUsd } = await priceCall(client, listing, upscaleImage, { image: imageFile, scale: 4 })
  expect(amountMicroUsd).toBe(highest)
})

const asked = { image: 'aGk=', prompt: 'x' }
test.each([
  ['of an image without its background', backgroundRemoveImage, { image: 'aGk=', model: 'cutter', feather: 3 }],
  ['an unknown member of an edit', editImage, { ...asked, model: 'inpaint-0', layers: 4 }],
  ['of a larger image', upscaleImage, { image: 'aGk=', model: 'upscale-0', faces: true }],
  ['of speech', createSpeech, { model: 'tts-0', input: 'x', duet: true }],
  ['of music', queueAudio, { model: 'music-0', prompt: 'x', stems: 8 }],
  ['of a search', webSearch, { query: 'x', depth: 3 }],
  ['of a page', webScrape, { url: 'https://example.com', pages: 30 }],
  ...[
    ['FLAC', Buffer.from('fLaC')],
    ['Ogg', Buffer.from('OggS')],
    ['a WAV of coded samples', wavOfChunks({ tag: 2 })],
    ['a WAV that contradicts itself', wavOfChunks({ bytesPerSecond: 1_000_000 })],
    ['a WAV of no channels', wavOfChunks({ channels: 0 })],
    ['what is cut off', Buffer.from('RIFF    WAVEfmt ')],
    ['nothing', Buffer.alloc(0)],
  ].map(([kind, bytes]) => {
    const file = new File([new Uint8Array(bytes as Buffer)], 'a')
    return [`a recording whose length nobody can say: ${kind}`, createTranscription, { model: 'asr-0', file }] as const
  }),
] as const)('without a price is %s', async (_rule, operation, body) => {
  expect((await priceCall(client, models, operation, body)).amountMicroUsd).toBeNull()
})

const file = () => new File(['fLaC'], 'talk.flac')
test.each([
  [backgroundRemoveImage, { image: 'aGk=', x: 1 }, 'Background removal by the default model', null],
  [editImage, { ...asked, prompt: 'a red sky', x: 1 }, 'An edited image by the default model', 'a red sky'],
  [createTranscription, { model: 'asr-0', file: file() }, 'A transcript by asr-0', null],
  [createTextParser, { file: file(), x: 1 }, 'The text of a document', null],
  [webSearch, { query: 'fares', x: 1 }, 'A web search', 'fares'],
  [webScrape, { url: 'https://key@a.example/page?key=1', x: 1 }, 'A web page', 'a.example/page'],
  [queueAudio, { model: 'music-0', prompt: 'a waltz', x: 1 }, 'Music by music-0', 'a waltz'],
  [createSpeech, { model: 'tts-0', input: 'Hi', x: 1 }, 'Speech by tts-0', 'Hi'],
  [
    createResponse,
    {
      model: 'demo-chat',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello?' }] }],
      web_search: true,
    },
    'A chat with demo-chat',
    'Hello?',
  ],
] as const)('a call without a price is described for the user (row %#)', async (operation, body, what, prompt) => {
  const price = await priceCall(client, models, operation, body)
  expect(price.what).toBe(what)
  expect(askedAbout(body, null, price.amountMicroUsd)).toMatchObject({
    ...{ tool: null, prompt, mostMicroUsd: null },
    files: 'file' in body ? [{ name: 'talk.flac', bytes: 4 }] : [],
  })
})
