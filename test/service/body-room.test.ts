import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyBytes } from '#contract/limits.ts'
import { bodyTypesOf } from '#contract/operations/operation.ts'
import { operations } from '#contract/operations/operations.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'

const bodyRoom = { allBytes: 100_000, ofOneBytes: 70_000 }

let service: OpenedService
let ada: string
let bob: string
beforeAll(async () => {
  service = await openService({ settings: { bodyRoom } })
  ada = await service.key(5)
  bob = await service.key(5)
})
afterAll(async () => {
  await closeSound(service)
})

const chat = (bytes: number) => {
  const text = JSON.stringify({ model: 'demo-chat', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] })
  return text.padEnd(bytes)
}
const headers = (key: string) => ({ 'content-type': 'application/json', authorization: `Bearer ${key}` })
const send = (key: string, bytes: number) =>
  service.request('/api/v1/chat/completions', { method: 'POST', headers: headers(key), body: chat(bytes) })

/** A request whose body stops before its last byte, and how it goes on. */
function held(key: string, bytes: number) {
  const [rest, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const whole = new TextEncoder().encode(chat(bytes))
  const pieces = [whole.subarray(0, -1), whole.subarray(-1)]
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = pieces.shift()
        // The first piece has been counted when the second is asked for.
        if (pieces.length === 0) {
          taken.resolve()
          await rest.promise
        }
        if (piece) controller.enqueue(piece)
        else controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  const init = { method: 'POST', headers: headers(key), body, duplex: 'half' }
  const answered = service.request('/api/v1/chat/completions', init as RequestInit)
  return { taken: taken.promise, answered, goOn: () => rest.resolve() }
}

describe('G17: bodies of requests under way have a share of the memory each, and all of them a bound', () => {
  test('a caller that sends more than its share at once gets a short Retry-After, and so does every caller if all memory is taken', async () => {
    const first = held(ada, 60_000)
    await first.taken
    const own = await send(ada, 20_000)
    expect([own.status, own.headers.get('x-ratelimit-type')]).toEqual([429, 'user'])
    expect(Number(own.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(own.headers.get('x-ratelimit-reset-requests'))).toBeGreaterThan(0)
    expect(await own.json()).toEqual({ error: expect.stringContaining('nothing was charged') })
    const others = await send(bob, 50_000)
    expect([others.status, others.headers.get('x-ratelimit-type')]).toEqual([429, 'global'])
    expect((await send(bob, 30_000)).status).toBe(200)
    first.goOn()
    expect((await first.answered).status).toBe(200)
    expect((await send(bob, 50_000)).status).toBe(200)
    expect((await send(ada, 60_000)).status).toBe(200)
  })

  test('a refusal because of full memory does not count towards the block', async () => {
    const first = held(ada, 60_000)
    await first.taken
    for (let sent = 0; sent <= 20; sent++) expect((await send(ada, 20_000)).status).toBe(429)
    first.goOn()
    await first.answered
    expect((await send(ada, 20_000)).status).toBe(200)
  })
})

describe('G18: operations without credentials', () => {
  const anybodys = operations.filter(
    operation => operation.auth.length === 0 && 'body' in operation.request && bodyTypesOf(operation).includes('json'),
  )
  test.each(anybodys.map(({ id, path }) => [id, path]))('%s takes no large body', async (_id, path) => {
    const body = JSON.stringify({ model: 'x' }).padEnd(bodyBytes.small + 1)
    const json = { 'content-type': 'application/json' }
    const answer = await service.request(`/api/v1${path}`, { method: 'POST', headers: json, body })
    // Of a top-up the brief knows no 413.
    expect(answer.status).toBe(path === '/x402/top-up' ? 400 : 413)
  })
  test('there are such operations', () => expect(anybodys.map(({ id }) => id)).toContain('quoteAudio'))
})
