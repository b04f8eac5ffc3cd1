import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DetailedError, StandardError, TopUpError } from '#contract/errors/failures.ts'
import { Listener } from '#service/http/listener.ts'
import { type OpenedService, openService } from './open-service.ts'

/** The shapes of brief §2.4 and §7, wherever a request fails. */

let service: OpenedService
let key: string
beforeAll(async () => {
  service = await openService()
  key = await service.key(1)
})
afterAll(() => service.close())

describe('§2.4 an invalid top-up request has a code, a message and details', () => {
  const json = { 'content-type': 'application/json' }
  test.each<[sent: string, headers: Record<string, string>, body: string]>([
    ['half a body', json, '{x'],
    ['a list', json, '[1]'],
    ['a number', json, '7'],
    ['text that is not UTF-8 JSON', json, '"\ud800"'],
    ['too large a body', json, `{"x":"${'x'.repeat(70_000)}"}`],
    ['a compressed body', { ...json, 'content-encoding': 'gzip' }, '{}'],
  ])('%s', async (_sent, headers, body) => {
    service.clock.pass(60_000)
    const answer = await service.request('/api/v1/x402/top-up', { method: 'POST', headers, body })
    const read = TopUpError.parse(await answer.json())
    expect([answer.status, read.error, read.details?.reason]).toEqual([400, 'X402_INVALID_PAYMENT', 'invalid_body'])
    expect(read.message).toContain('PAYMENT-SIGNATURE')
  })
})

/** Every level that holds sentences or members has `_errors`. */
function levelsOf(level: unknown): unknown[] {
  if (typeof level !== 'object' || level === null || Array.isArray(level)) return []
  return [level, ...Object.values(level).flatMap(levelsOf)]
}

const hello = { model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }] }

describe('§7 a 400 about a member names it nested, each level with its `_errors`', () => {
  const chat = (body: object, headers: Record<string, string> = {}) =>
    service.request('/api/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
      body: JSON.stringify({ ...hello, ...body }),
    })
  const get = (path: string) => service.request(`/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } })
  const table: [member: string, ask: () => Promise<Response>, path: (string | number)[]][] = [
    ['one of its own', () => chat({ temperature: 'hot' }), ['temperature']],
    [
      'an option that is not set up',
      () => chat({ service_parameters: { enable_web_search: 'on' } }),
      ['service_parameters', 'enable_web_search'],
    ],
    [
      'an option of another type',
      () => chat({ service_parameters: { enable_web_search: 7 } }),
      ['service_parameters', 'enable_web_search'],
    ],
    ['a suffix of the model', () => chat({ model: 'demo-chat:enable_web_search=maybe' }), ['model']],
    [
      'a part of a message',
      () => chat({ messages: [{ role: 'user', content: [{ type: 'text' }] }] }),
      ['messages', 0, 'content', 0, 'text'],
    ],
    ['a key of another form', () => chat({}, { 'idempotency-key': 'a b' }), ['Idempotency-Key']],
    ['an invalid receipt', () => get('/farebox/receipts?before=none'), ['before']],
  ]
  test.each(table)('%s', async (_member, ask, path) => {
    service.clock.pass(60_000)
    const answer = await ask()
    const { details, issues } = DetailedError.parse(await answer.json())
    expect([answer.status, issues?.[0]?.path]).toEqual([400, path])
    const place = path.reduce<unknown>((level, name) => (level as Record<string, unknown>)?.[name], details)
    expect(place).toMatchObject({ _errors: [expect.any(String)] })
    for (const level of levelsOf(details)) expect(level).toMatchObject({ _errors: expect.any(Array) })
  })
})

describe('§7, §9 while the service starts', () => {
  let listener: Listener
  beforeAll(async () => {
    listener = await Listener.open({ host: '127.0.0.1', port: 0 })
  })
  afterAll(() => listener.close(0))

  test.each([
    ['GET', '/api/v1/models', StandardError],
    ['GET', '/readyz', StandardError],
    ['POST', '/api/v1/x402/top-up', TopUpError],
  ])('%s %s is a 503 with the headers of every refusal', async (method, path, shape) => {
    const answer = await fetch(`http://127.0.0.1:${listener.port}${path}`, { method })
    expect(answer.status).toBe(503)
    shape.parse(await answer.json())
    expect(answer.headers.get('content-type')).toBe('application/json')
    for (const name of [
      'cf-ray',
      'x-service-version',
      'x-service-timestamp',
      'x-service-host-name',
      'retry-after',
      'vary',
    ])
      expect([name, answer.headers.get(name)]).toEqual([name, expect.stringMatching(/./)])
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })
})
