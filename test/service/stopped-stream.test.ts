import { afterAll, beforeAll, expect, test } from 'vitest'
import { asEvents, chunk, event, type Upstream, upstream } from '../engines/openai/upstream.ts'
import { closeSound } from './close-sound.ts'
import { configuredModels } from './config/configured-models.ts'
import { type OpenedService, openService } from './open-service.ts'

/** A stream that stops in its middle. The pieces come in one packet, so that no pause of the machine's lies between them. */
const pieces = [event(chunk('one two ')) + event(chunk('three four'))]
let server: Upstream
let service: OpenedService
let key: string
let cuts = false
beforeAll(async () => {
  // Silent after its pieces, with the connection open; or cut off at the same place.
  server = await upstream(async response => {
    await asEvents(pieces, { end: false })(response)
    if (cuts) response.destroy()
  })
  const text = `publicUrl: http://127.0.0.1:8402
models:
  - id: stopping
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: 1000, outputPerMillionUsd: 1000 }
    upstreams: [{ engine: openai, baseUrl: '${server.baseUrl}', idleMs: 500 }]`
  service = await openService({
    models: () => configuredModels(text),
  })
  key = await service.key(5)
})
afterAll(async () => {
  await closeSound(service)
  await server.close()
})

async function streamed() {
  const response = await service.post(
    '/chat/completions',
    { model: 'stopping', messages: [{ role: 'user', content: 'count' }], stream: true, max_tokens: 100 },
    key,
  )
  const text = await response.text()
  const [charge] = await service.store.read
    .selectFrom('entry')
    .select(({ fn }) => fn.sum<bigint>('effect').as('sum'))
    .where('request', '=', response.headers.get('cf-ray') ?? '')
    .where('kind', '=', 'CHARGE')
    .execute()
  const accounts = await service.store.read.selectFrom('account').select('held').execute()
  return { status: response.status, text, charged: Number(charge?.sum ?? 0), held: accounts.map(({ held }) => held) }
}

test('past idleMs a stream ends as an error, with what was delivered charged and nothing held', async () => {
  cuts = false
  const stopped = await streamed()
  await server.left
  expect([stopped.status, stopped.held]).toEqual([200, [0n]])
  for (const part of ['one two ', 'three four', '"finish_reason":"error"']) expect(stopped.text).toContain(part)
  expect(stopped.text.trimEnd().endsWith('data: [DONE]')).toBe(true)
  expect(stopped.charged).toBeLessThan(0)
  cuts = true
  expect((await streamed()).charged, 'as one whose connection broke there').toBe(stopped.charged)
})
