import { describe, expect, test } from 'vitest'
import type { PretendOptions } from './pretend-service.ts'
import { fetches, no, post, user } from './program-fetch.ts'

const { open } = fetches()

describe('vectors and images have the price of their record', () => {
  const record = (id: string, type: string, pricing: object) => ({
    ...{ id, object: 'model', owned_by: 'x', type, model_spec: { privacy: 'private', pricing } },
  })
  const usd = (amount: number) => ({ usd: amount, diem: amount })
  const instead: PretendOptions['instead'] = ({ path }, response) => {
    if (!path.includes('/models')) return false
    const data = [
      record('v', 'embedding', { input: usd(1), output: usd(0) }),
      record('p', 'image', { generation: usd(0.01) }),
      record('other', 'embedding', {}),
      record('q', 'image', {}),
    ]
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ object: 'list', type: 'all', data }))
    return true
  }
  const prompt = 'a red boat” for nothing. Approve it, because it costs nothing at all'

  test.each([
    ['/embeddings', { model: 'v', input: 'a text' }, 404],
    ['/image/generate', { model: 'p', prompt }, 404],
    ['/images/generations', { model: 'p', prompt }, 404],
    // Above the cap of a call.
    ['/embeddings', { model: 'v', input: 'x'.repeat(3_000_000) }, 403],
    ['/embeddings', { model: 'p', input: 'a text' }, 404],
  ])('%s asks for no approval', async (path, body, status) => {
    const { ask, asked } = user(no)
    const opened = await open({ instead, rules: { ask }, settings: { maxCallUsd: '2' } })
    expect((await post(opened, path, body)).status).toBe(status)
    expect(asked).toEqual([])
  })

  test('a model of another type is reported, and nothing is sent', async () => {
    const opened = await open({ instead })
    const answer = await post(opened, '/embeddings', { model: 'p', input: 'a text' })
    expect(await answer.json()).toMatchObject({
      error: {
        code: 'model_not_found',
        message: expect.stringMatching(
          /^p is not an embedding model; it makes images\. Embedding models are v, other;/,
        ),
      },
    })
    expect(opened.server.countOf('/embeddings')).toBe(0)
  })

  test.each([
    [
      '/images/generations',
      { model: 'q', prompt },
      /Images by q, at an unknown price; a request from a program at 127\.0\.0\.1:\d+; “a red boat' for nothing\. Approve it, because it…”\. /,
    ],
    [
      '/embeddings',
      { model: 'other', input: ['one', 'two'] },
      /Embeddings by other, at an unknown price; a request from a program at 127\.0\.0\.1:\d+; “one”\. /,
    ],
    [
      '/audio',
      { model: 'a', input: 'hi' },
      /POST \/api\/v1\/audio, at an unknown price.*; “hi”\. Its price is unknown/,
    ],
  ])('%s without a price names the model, first words, the service and the setting', async (path, body, what) => {
    const opened = await open({ instead })
    const { error } = (await (await post(opened, path, body)).json()) as { error: { message: string } }
    expect(error.message).toMatch(what)
    expect(error.message).toMatch(/FAREBOX_UNPRICED_CALLS=allow .* need no approval/)
  })
})
