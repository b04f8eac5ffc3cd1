import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { farebox, type SpawnedUp, spawnUp } from './spawned-up.ts'

/** The stock client knows a base URL and a key; nothing here is ours but the server. */
describe('the stock OpenAI client', () => {
  let up: SpawnedUp
  let openai: OpenAI
  beforeAll(async () => {
    up = await spawnUp()
    const { stdout } = await farebox('keys', 'create', '--usd', '1', '--data', up.folder)
    openai = new OpenAI({ baseURL: up.baseUrl, apiKey: stdout.trim(), maxRetries: 0 })
  }, 60_000)
  afterAll(() => up?.dispose())

  const messages = [{ role: 'user' as const, content: 'Count these four words' }]

  test('lists models', async () => {
    const models = await openai.models.list()
    expect(models.data.map(model => model.id)).toContain('demo-chat')
  })

  test('chats, with every header that applies', async () => {
    const { data, response } = await openai.chat.completions.create({ model: 'demo-chat', messages }).withResponse()
    expect(data.choices[0]?.message.content).toContain('demonstration')
    expect(data.usage?.total_tokens).toBeGreaterThan(0)
    const names = [
      ...['cf-ray', 'date', 'content-type', 'x-service-version', 'x-service-timestamp'],
      ...['x-service-model-id', 'x-service-model-name', 'x-service-model-router', 'x-service-balance-usd'],
      ...['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
      ...['x-ratelimit-limit-tokens', 'x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens', 'x-ratelimit-type'],
    ]
    expect(names.filter(name => !response.headers.has(name))).toEqual([])
    const resetSeconds = Number(response.headers.get('x-ratelimit-reset-requests'))
    expect(resetSeconds * 1000 - Date.parse(response.headers.get('date') ?? '')).toBeLessThanOrEqual(61_000)
  })

  test.each([true, false])('streams, usage asked for: %s', async include_usage => {
    const stream = await openai.chat.completions.create({
      model: 'demo-chat',
      messages,
      stream: true,
      stream_options: { include_usage },
    })
    let text = ''
    let usage = 0
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? ''
      usage += chunk.usage?.total_tokens ?? 0
    }
    expect(text).toContain('demonstration')
    expect(usage > 0).toBe(include_usage)
  })

  test('embeds texts, in the base64 that it asks for by itself', async () => {
    const input = ['two texts', 'of words']
    const { data, usage } = await openai.embeddings.create({ model: 'demo-embedding', input, dimensions: 8 })
    expect(data.map(({ index, embedding }) => [index, embedding.length])).toEqual([
      [0, 8],
      [1, 8],
    ])
    expect(Math.hypot(...(data[0]?.embedding ?? []))).toBeCloseTo(1, 5)
    expect(usage.prompt_tokens).toBeGreaterThan(0)
  })

  test('makes images', async () => {
    const { data } = await openai.images.generate({ model: 'demo-image', prompt: 'a boat', size: '256x256' })
    expect(Buffer.from(data?.[0]?.b64_json ?? '', 'base64').toString('latin1', 1, 4)).toBe('PNG')
  })

  test('maps our errors to its own classes', async () => {
    const create = (body: object) =>
      openai.chat.completions.create({ model: 'demo-chat', messages, ...body } as OpenAI.ChatCompletionCreateParams)
    await expect(create({ model: 'no-such-model' })).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    await expect(create({ temperature: 9 })).rejects.toBeInstanceOf(OpenAI.BadRequestError)
    const stranger = new OpenAI({ baseURL: up.baseUrl, apiKey: 'fb_wrong', maxRetries: 0 })
    await expect(stranger.models.list()).resolves.toBeTruthy()
    await expect(stranger.chat.completions.create({ model: 'demo-chat', messages })).rejects.toBeInstanceOf(
      OpenAI.AuthenticationError,
    )
  })

  test('the ledger adds up after all of it', async () => {
    const audit = await farebox('ledger', 'audit', '--data', up.folder)
    expect(audit.stdout).toContain('drift: 0.00 USD')
    expect(audit.code).toBe(0)
    expect(up.errors()).toBe('')
  })
})
