/** The wallet knows the price of every paid operation of the demonstrations in advance, so no approval is needed for an unknown price. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ModelRecords, UnknownModel } from '#agent/prices/model-records.ts'
import { priceCall } from '#agent/prices/price-call.ts'
import { Client } from '#client/client.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { listModels, type ModelType, modelTypes } from '#contract/operations/models.ts'
import { isPaid, type Operation } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model } from '#service/models/model.ts'
import { type OpenedService, openService } from '../service/open-service.ts'
import { wavOfChunks } from '../service/wav-of-chunks.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

interface Asked {
  /** Of the models that it runs; null where it runs none. */
  type: ModelType | null
  /** A usual request, without its model. */
  body: () => object
}

const image = 'aGk='
const file = () => new File([new Uint8Array(wavOfChunks({}, [16_000]))], 'a.wav')
const messages = [{ role: 'user', content: 'Hello' }]

/** Every operation that costs a caller. */
const asked: Readonly<Record<string, Asked>> = {
  createChatCompletion: { type: 'text', body: () => ({ messages, max_tokens: 10 }) },
  createResponse: { type: 'text', body: () => ({ input: 'Hello', max_output_tokens: 10 }) },
  createEmbedding: { type: 'embedding', body: () => ({ input: 'Hello' }) },
  generateImage: { type: 'image', body: () => ({ prompt: 'a kite' }) },
  simpleGenerateImage: { type: 'image', body: () => ({ prompt: 'a kite' }) },
  editImage: { type: 'inpaint', body: () => ({ image, prompt: 'grey' }) },
  multiEditImage: { type: 'inpaint', body: () => ({ images: [image], prompt: 'grey' }) },
  upscaleImage: { type: 'upscale', body: () => ({ image }) },
  backgroundRemoveImage: { type: 'background', body: () => ({ image }) },
  createSpeech: { type: 'tts', body: () => ({ input: 'Hello' }) },
  createTranscription: { type: 'asr', body: () => ({ file: file() }) },
  queueAudio: { type: 'music', body: () => ({ prompt: 'a waltz', duration_seconds: 5 }) },
  queueVideo: { type: 'video', body: () => ({ prompt: 'a kite', duration: '2s' }) },
  webSearch: { type: null, body: () => ({ query: 'kites' }) },
  webScrape: { type: null, body: () => ({ url: 'https://example.com/' }) },
  createTextParser: { type: null, body: () => ({ file: file() }) },
  createVideoTranscription: { type: null, body: () => ({ url: 'https://example.com/a.mp4' }) },
  cryptoRpcProxy: { type: null, body: () => ({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }) },
}

/** Calls without a known price, and why. */
const exceptions: Readonly<Record<string, string>> = {
  'queueVideo demo-video-upscale': 'its quote is of the video that is sent, and this request has none',
}

const underWay = async () => ({ state: 'running', engineState: {} }) as const

let service: OpenedService
let client: Client
let own: Model[] = []
beforeAll(async () => {
  service = await openService({
    models: engines => {
      const models = demoModels({ ...engines, music: { carries: () => true, start: underWay, poll: underWay } })
      // The contract's own example of another provider's id, for each type.
      own = models.map(model => ({ ...model, compatibleIds: [`other-${model.type}-${model.id}`] }))
      return own
    },
  })
  client = new Client({
    baseUrl: 'http://127.0.0.1:8402/api/v1',
    credential: { apiKey: await service.key(100) },
    fetch: request => service.service.app.fetch(request),
    clock: service.clock,
  })
})
afterAll(async () => {
  await client.close()
  await service.close()
})

/** Operations that run a model by a name, each with its type. */
const named = (operations as readonly Operation[])
  .filter(isPaid)
  .map(operation => ({ operation, type: asked[operation.id]?.type, body: asked[operation.id]?.body() }))
  .filter(({ type }) => type !== null)

const listed = async (type: ModelType | 'all') =>
  (await client.call(listModels, { params: undefined, query: { type }, body: undefined })).answer.data

test('every demonstration is in the list of its type, with its price or a quote', async () => {
  const found = (await Promise.all(modelTypes.map(listed))).flat()
  expect(found.map(({ id, type }) => `${type} ${id}`).sort()).toEqual(own.map(({ id, type }) => `${type} ${id}`).sort())
  const unpriced = found.filter(({ model_spec: { pricing } }) => !pricing || Object.keys(pricing).length === 0)
  expect(unpriced.every(({ type }) => type === 'video')).toBe(true)
})

test('a list of all models shows only published types', async () => {
  const types = new Set((await listed('all')).map(({ type }) => type))
  expect([...types].sort()).toEqual(modelTypes.filter(type => type !== 'background').sort())
})

test('the wallet knows the price of every paid operation with every model of the demonstrations', async () => {
  const models = new ModelRecords(client)
  const paid = (operations as readonly Operation[]).filter(isPaid)
  expect(Object.keys(asked).sort()).toEqual(paid.map(({ id }) => id).sort())
  const unknown: string[] = []
  for (const operation of paid) {
    const { type, body } = asked[operation.id] ?? { type: null, body: () => ({}) }
    const names = type === null ? [undefined] : own.filter(model => model.type === type).map(({ id }) => id)
    expect(names).not.toEqual([])
    for (const model of names) {
      const given = model === undefined ? body() : { model, ...body() }
      const priced = await priceCall(client, models, operation, given).catch(() => null)
      if ((priced?.amountMicroUsd ?? null) === null) unknown.push(`${operation.id} ${model ?? ''}`.trim())
    }
  }
  expect(unknown).toEqual(Object.keys(exceptions))
})

test.each(named)(
  '$operation.id: an unknown model is refused before anybody is asked',
  async ({ operation, type, body }) => {
    const models = new ModelRecords(client)
    const model = own.find(each => each.type === type)?.id ?? ''
    const price = priceCall(client, models, operation, { ...body, model: `${model}x` })
    const error = await price.then(
      () => null,
      (thrown: Error) => thrown,
    )
    expect(error).toBeInstanceOf(operation.charge === 'quote' ? ServiceError : UnknownModel)
    expect(error instanceof ServiceError ? JSON.stringify(error.body) : error?.message).toContain(model)
  },
)

test.each(named)(
  '$operation.id: a trait has the price of the model that it stands for',
  async ({ operation, type, body }) => {
    const models = new ModelRecords(client)
    const meant = own.find(each => each.type === type && each.traits.includes('default'))
    const priceOf = async (model: string) =>
      (await priceCall(client, models, operation, { ...body, model })).amountMicroUsd
    expect(meant).toBeDefined()
    expect(await priceOf('default')).toBe(await priceOf(meant?.id ?? ''))
  },
)

test.each(named)(
  '$operation.id: another provider’s id has the price of its model',
  async ({ operation, type, body }) => {
    const models = new ModelRecords(client)
    const compatible = own.find(each => each.type === type && each.compatibleIds?.length)
    const priceOf = async (model: string) =>
      (await priceCall(client, models, operation, { ...body, model })).amountMicroUsd
    expect(await priceOf(compatible?.compatibleIds?.[0] ?? '')).toBe(await priceOf(compatible?.id ?? ''))
  },
)

test.each(['default:character_slug=x', 'demo-chat:character_slug=x'])(
  'a character behind %s has a price, as one in the body has',
  async model => {
    const models = new ModelRecords(client)
    const body = { messages, max_tokens: 10 }
    const behind = await priceCall(client, models, createChatCompletion, { ...body, model })
    const inside = await priceCall(client, models, createChatCompletion, {
      ...{ ...body, model: model.split(':')[0] },
      service_parameters: { character_slug: 'x' },
    })
    expect(behind.amountMicroUsd).not.toBeNull()
    expect(behind.amountMicroUsd).toBe(inside.amountMicroUsd)
  },
)

test('a suffix that is not an option belongs to the id, so the id is unknown', async () => {
  const price = priceCall(client, new ModelRecords(client), createChatCompletion, { model: 'demo-chat:8b', messages })
  await expect(price).rejects.toThrow(/no model demo-chat:8b.*demo-chat/)
})
