import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerHeaders, answerHeaderTable } from '#contract/operations/answer-headers.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import { createEmbedding } from '#contract/operations/embeddings.ts'
import { generateImage } from '#contract/operations/images.ts'
import { listModels } from '#contract/operations/models.ts'
import type { Operation } from '#contract/operations/operation.ts'
import { getRateLimits } from '#contract/operations/rate-limits.ts'
import type { HeaderCodec } from '#contract/wire/header-codec.ts'
import * as headers from '#contract/wire/headers.ts'
import { type OpenedService, openService } from './open-service.ts'
import { walk, walkedRequests } from './walk-operations.ts'

/** What the service sends, held against the one table of headers that the description is printed from. */

let service: OpenedService
let key: string
beforeAll(async () => {
  service = await openService()
  key = await service.key(5)
})
afterAll(() => service.close())

/** Of HTTP itself and of caches, which no description of an API lists. */
const plain = new Set([
  ...['content-type', 'content-length', 'cache-control', 'vary', 'x-content-type-options', 'x-accel-buffering'],
])

const undescribed = (operation: Operation, answer: Response) => {
  const described = new Set(answerHeaders(operation, answer.status).map(({ name }) => name))
  return [...answer.headers.keys()].filter(name => !plain.has(name) && !described.has(name))
}

test.each(walkedRequests)(
  '§9 %s with %s sends what is described, and what always is sent',
  async (_, _sent, operation, body) => {
    const answer = await walk(service, key, operation, body)
    expect([answer.status, undescribed(operation, answer)]).toEqual([answer.status, []])
    for (const { name } of [headers.requestId, headers.version, headers.timestamp])
      expect([name, answer.headers.has(name)]).toEqual([name, true])
    if (answer.status >= 400) expect(answer.headers.get(headers.hostName.name)).toBe('test-host')
  },
)

const hello = { model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 1 }
const table: [what: string, operation: Operation, body?: object, sent?: Record<string, string>][] = [
  ['a chat', createChatCompletion, hello],
  ['a stream', createChatCompletion, { ...hello, stream: true }],
  ['a timed request', createChatCompletion, hello, { 'x-service-request-timestamp-ms': '1700000000000' }],
  ['a chat under a key', createChatCompletion, hello, { 'idempotency-key': 'one' }],
  ['its repeat', createChatCompletion, hello, { 'idempotency-key': 'one' }],
  ['a receipt', createChatCompletion, hello, { 'x-farebox-want-receipt': 'true' }],
  ['an image', generateImage, { model: 'demo-image', prompt: 'a boat', width: 64, height: 64 }],
  ['its bytes', generateImage, { model: 'demo-image', prompt: 'a boat', width: 64, height: 64, return_binary: true }],
  ['a vector', createEmbedding, { model: 'demo-embedding', input: 'a boat' }],
  ['the models', listModels],
  ['the limits', getRateLimits],
]

test.each(table)('§9 %s sends what is described', async (_what, operation, body, sent = {}) => {
  const answer = await service.request(`/api/v1${operation.path}`, {
    method: operation.method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...sent },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  await answer.arrayBuffer()
  expect([answer.status, undescribed(operation, answer)]).toEqual([200, []])
})

const isCodec = (value: unknown): value is HeaderCodec<unknown> =>
  typeof value === 'object' && value !== null && 'parse' in value && 'format' in value

test('every header of the contract is a row of the table, or one of requests', () => {
  const listed = new Set(answerHeaderTable.map(({ header }) => header.name))
  expect(listed.size).toBe(answerHeaderTable.length)
  const all: unknown[] = Object.values(headers)
  const others = all.filter(isCodec).filter(({ name }) => !listed.has(name))
  expect(others.filter(({ when }) => !when.startsWith('request'))).toEqual([])
})

test('every row is described where it is sent, or says why it is not', () => {
  for (const row of answerHeaderTable) {
    if ('notSent' in row) expect(row.notSent).toMatch(/ /)
    else
      expect([
        row.header.name,
        walkedRequests.some(([, , operation]) => [200, 402, 429, 500].some(status => row.on({ operation, status }))),
      ]).toEqual([row.header.name, true])
  }
})
