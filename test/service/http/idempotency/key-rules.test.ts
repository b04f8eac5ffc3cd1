import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { modelOffline } from '#contract/errors/errors.ts'
import { audit } from '#ledger/audit/audit.ts'
import { pruneStore } from '#ledger/store/store.ts'
import { readKey } from '#service/http/idempotency/replayed-answer.ts'
import { used } from '../../chat-script.ts'
import {
  answerBeats,
  answerMicroUsd,
  charges,
  claims,
  clip,
  closeAll,
  gate,
  holds,
  type KeyFixture,
  openKeyFixture,
} from './key-fixture.ts'

let fixture: KeyFixture
let bearer: string
beforeEach(async () => {
  fixture = await openKeyFixture()
  bearer = await fixture.opened.key(1)
})
afterEach(async () => {
  expect(await holds(fixture)).toEqual([])
  expect((await audit(fixture.opened.database)).findings).toEqual([])
  await closeAll([fixture])
})

const code = async (response: Response) => [response.status, ((await response.json()) as { code?: string }).code]

describe('a repeat of a whole answer', () => {
  test('is the same bytes, charged once, and says so', async () => {
    const first = await fixture.ask(bearer, { key: 'one' })
    const second = await fixture.ask(bearer, { key: 'one' })
    expect([first.status, second.status]).toEqual([200, 200])
    expect(await second.text()).toBe(await first.text())
    expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect([first, second].map(answer => answer.headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    expect(fixture.chat.calls).toHaveLength(1)
    expect(await charges(fixture)).toEqual([answerMicroUsd])
  })

  test('says anew what is of the moment, and keeps what belongs to the answer', async () => {
    const first = await fixture.ask(bearer, { key: 'one' })
    await fixture.ask(bearer)
    const second = await fixture.ask(bearer, { key: 'one' })
    expect(second.headers.get('cf-ray')).not.toBe(first.headers.get('cf-ray'))
    expect(first.headers.get('x-service-balance-usd')).toBe('1.000000')
    expect(second.headers.get('x-service-balance-usd')).toBe('0.999930')
    expect(second.headers.get('x-service-model-id')).toBe('scripted')
  })

  test('is compressed on request, and has the same contents', async () => {
    fixture.chat.play([{ text: 'long '.repeat(1000) }, { usage: used(5, 3) }])
    const first = await (await fixture.ask(bearer, { key: 'one' })).text()
    const second = await fixture.ask(bearer, { key: 'one', headers: { 'accept-encoding': 'gzip' } })
    expect(second.headers.get('content-encoding')).toBe('gzip')
    const bytes = new Response(second.body?.pipeThrough(new DecompressionStream('gzip')))
    expect(await bytes.text()).toBe(first)
  })

  test('does not count towards the limits', async () => {
    await fixture.ask(bearer, { key: 'one' })
    for (let repeat = 0; repeat < 5; repeat++) await fixture.ask(bearer, { key: 'one' })
    const next = await fixture.ask(bearer)
    expect(next.headers.get('x-ratelimit-remaining-requests')).toBe('498')
  })

  test('may write its members in another order', async () => {
    const first = await fixture.ask(bearer, { key: 'one', body: { temperature: 1, top_p: 1 } })
    const second = await fixture.ask(bearer, { key: 'one', body: { top_p: 1, temperature: 1 } })
    expect(await second.text()).toBe(await first.text())
  })

  test('is given by every key of the account, and to no other account', async () => {
    const stranger = await fixture.opened.key(1)
    await fixture.ask(bearer, { key: 'one' })
    const theirs = await fixture.ask(stranger, { key: 'one' })
    expect(theirs.headers.get('idempotent-replayed')).toBeNull()
    expect(await charges(fixture)).toEqual([answerMicroUsd, answerMicroUsd])
  })

  test('is given where the credit is used up', async () => {
    const poor = await fixture.opened.key(0.003)
    fixture.chat.play([{ text: 'all of it' }, { usage: used(5, 200) }])
    const first = await fixture.ask(poor, { key: 'one', body: { max_tokens: 200 } })
    expect(first.status).toBe(200)
    expect((await fixture.ask(poor, { key: 'two', body: { max_tokens: 200 } })).status).toBe(402)
    const again = await fixture.ask(poor, { key: 'one', body: { max_tokens: 200 } })
    expect(await again.text()).toBe(await first.text())
  })

  test('is new work after a day', async () => {
    await fixture.ask(bearer, { key: 'one' })
    fixture.opened.clock.pass(24 * 60 * 60 * 1000 + 1)
    await pruneStore(fixture.store, fixture.opened.clock.now())
    expect((await fixture.ask(bearer, { key: 'one' })).headers.get('idempotent-replayed')).toBeNull()
    expect(await charges(fixture)).toEqual([answerMicroUsd, answerMicroUsd])
  })
})

describe('a key', () => {
  const wrong: [rule: string, key: string][] = [
    ['is not empty', ''],
    ['has at most 255 characters', 'k'.repeat(256)],
    ['has no space', 'a b'],
    ['has no colon', 'a:b'],
    ['is sent with one value', 'a, b'],
    ['is in ASCII', 'caf\u00e9'],
  ]
  test.each(wrong)('%s', async (_rule, key) => {
    const response = await fixture.ask(bearer, { key })
    expect(response.status).toBe(400)
    expect(JSON.stringify(await response.json())).toMatch(/Idempotency-Key.*1 to 255 characters/)
    expect(await claims(fixture)).toEqual([])
  })

  const right: [rule: string, key: string][] = [
    ['of one character', 'a'],
    ['of 255 characters', 'k'.repeat(255)],
    ['that is a UUID', '0190f3a0-0000-7000-8000-000000000000'],
    ['of every kind of character', 'aZ09_-'],
  ]
  test.each(right)('%s is taken', async (_rule, key) => {
    expect((await fixture.ask(bearer, { key })).status).toBe(200)
    expect((await fixture.ask(bearer, { key })).headers.get('idempotent-replayed')).toBe('true')
  })

  test('may be sent twice if it is the same', () => {
    expect(readKey(() => ['same', 'same'])).toBe('same')
    expect(() => readKey(() => ['one', 'other'])).toThrow('INVALID_REQUEST')
    expect(readKey(() => [])).toBeNull()
  })

  test('is not read where nothing costs', async () => {
    const path = '/video/quote'
    const response = await fixture.ask(bearer, { key: 'not a key', path, body: { ...clip, messages: undefined } })
    expect(response.status).toBe(200)
    expect(await claims(fixture)).toEqual([])
  })

  test('means another thing on another operation', async () => {
    expect((await fixture.ask(bearer, { key: 'one' })).status).toBe(200)
    const video = await fixture.ask(bearer, { key: 'one', path: '/video/queue' })
    expect([video.status, video.headers.get('idempotent-replayed')]).toEqual([200, null])
  })

  test('is not stored as it is sent', async () => {
    await fixture.ask(bearer, { key: 'a-name-of-somebody' })
    const [claim] = await claims(fixture)
    expect(JSON.stringify(claim)).not.toContain('a-name-of-somebody')
    expect(claim?.id).toBe(hashOf([claim?.account ?? '', 'createChatCompletion', 'a-name-of-somebody']))
  })

  test('with another request is a mistake, while it runs and after', async () => {
    const { until, open } = gate()
    fixture.chat.play([{ until }, ...answerBeats])
    const first = fixture.ask(bearer, { key: 'one' })
    await expect.poll(() => fixture.chat.calls.length).toBe(1)
    const other = { key: 'one', body: { temperature: 2 } }
    expect(await code(await fixture.ask(bearer, other))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
    open()
    expect((await first).status).toBe(200)
    expect(await code(await fixture.ask(bearer, other))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED'])
    expect(fixture.chat.calls).toHaveLength(1)
  })

  test('whose work is under way is answered by 409, and when to ask again', async () => {
    const { until, open } = gate()
    fixture.chat.play([{ until }, ...answerBeats])
    const first = fixture.ask(bearer, { key: 'one' })
    await expect.poll(() => fixture.chat.calls.length).toBe(1)
    const twin = await fixture.ask(bearer, { key: 'one' })
    expect(twin.headers.get('retry-after')).toBe('2')
    expect(await code(twin)).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE'])
    open()
    const answered = await (await first).text()
    expect(await (await fixture.ask(bearer, { key: 'one' })).text()).toBe(answered)
  })
})

const hashOf = (parts: string[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex')

describe('a key is free again after a request that had no effect', () => {
  const refused: [rule: string, prepare: () => Promise<{ bearer: string; body?: object }>, status: number][] = [
    ['the credit does not cover it', async () => ({ bearer: await fixture.opened.key(0.000_01) }), 402],
    ['the model is unknown', async () => ({ bearer, body: { model: 'nobody' } }), 404],
    ['a field is wrong', async () => ({ bearer, body: { temperature: 9 } }), 400],
    [
      'the limit is reached',
      async () => {
        await Promise.all(Array.from({ length: 500 }, () => fixture.ask(bearer, { body: { max_tokens: 1 } })))
        return { bearer }
      },
      429,
    ],
    [
      'the engine fails',
      async () => {
        fixture.chat.play([{ fail: modelOffline() }])
        return { bearer }
      },
      503,
    ],
    [
      'the engine fails before the first piece of a stream',
      async () => {
        fixture.chat.play([{ role: true }, { fail: modelOffline() }])
        return { bearer, body: { stream: true } }
      },
      200,
    ],
  ]
  test.each(refused)('%s', async (_rule, prepare, status) => {
    const { bearer: caller, body } = await prepare()
    const before = (await charges(fixture)).length
    const response = await fixture.ask(caller, { key: 'one', ...(body ? { body } : {}) })
    expect(response.status).toBe(status)
    await response.text().catch(() => 'broken off')
    await expect.poll(() => claims(fixture)).toEqual([])
    expect(await charges(fixture)).toHaveLength(before)
    fixture.chat.play(answerBeats)
    fixture.opened.clock.pass(61_000)
    const again = await fixture.ask(bearer, { key: 'one', body: { temperature: 1 } })
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, null])
  })
})
