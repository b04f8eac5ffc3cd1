import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pricePerMillion } from '#contract/money.ts'
import type { Embeddings } from '#contract/operations/embeddings.ts'
import { LocalEmbeddings, localDimensions } from '#engines/local/embeddings.ts'
import type { EmbeddingModel } from '#service/models/model.ts'
import { type OpenedService, openService } from '../../service/open-service.ts'

const model = (engine: LocalEmbeddings): EmbeddingModel => ({
  type: 'embedding',
  id: 'sentences',
  name: 'Sentences',
  description: 'A small model of English sentences.',
  createdAt: 0,
  traits: [],
  engineName: 'local',
  engineModel: 'sentences',
  dimensions: localDimensions,
  hasDimensions: false,
  maximumInputTokens: 512,
  price: { inputPicoUsd: pricePerMillion('1') ?? 0n },
  engine,
})

describe('the local embedding model', { timeout: 60_000, tags: ['engines'] }, () => {
  const engine = new LocalEmbeddings()
  let service: OpenedService
  let key: string

  beforeAll(async () => {
    service = await openService({ models: () => [model(engine)] })
    key = await service.key(1)
  })

  afterAll(async () => {
    await service.close()
    await engine.close()
  })

  const embed = async (input: unknown) => service.post('/embeddings', { model: 'sentences', input }, key)

  test('puts texts that mean the same near each other, in the order in which they came', async () => {
    const texts = ['The cat sat on the mat.', 'Income tax is due in April.', 'A feline was resting on a rug.']
    const response = await embed(texts)
    expect(response.status).toBe(200)
    const { data, usage } = (await response.json()) as Embeddings
    const [cat = [], tax = [], feline = []] = data.map(({ embedding }) => embedding as number[])
    expect(cat).toHaveLength(localDimensions)
    expect(likeness(cat, feline)).toBeGreaterThan(likeness(cat, tax) + 0.2)
    expect(usage.prompt_tokens).toBeGreaterThan(texts.length * 4)
  })

  test('takes more texts than it embeds at once', async () => {
    const { data } = (await (
      await embed(Array.from({ length: 40 }, (_, index) => `Text ${index}`))
    ).json()) as Embeddings
    expect(data.map(({ index }) => index)).toEqual(Array.from({ length: 40 }, (_, index) => index))
  })

  test('refuses tokens of other models, and charges nothing', async () => {
    const response = await embed([1, 2, 3])
    expect(response.status).toBe(400)
    expect(JSON.stringify(await response.json())).toContain('accepts texts')
  })
})

const likeness = (left: readonly number[], right: readonly number[]): number =>
  left.reduce((sum, value, place) => sum + value * (right[place] ?? 0), 0)
