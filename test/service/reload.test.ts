import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '#service/config/read-config.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model } from '#service/models/model.ts'
import { type OpenedService, openService } from './open-service.ts'

let service: OpenedService
let models: Model[]
let key: string
beforeAll(async () => {
  service = await openService({
    models: engines => {
      models = demoModels(engines as Parameters<typeof demoModels>[0])
      return models
    },
    metricsToken: 'token of the figures',
  })
  key = await service.key(5)
})
afterAll(() => service.close())

const chat = (model = 'demo-chat') =>
  service.post('/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 }, key)

const limitOf = async (id: string) => {
  const answer = await service.request('/api/v1/api_keys/rate_limits', { headers: { authorization: `Bearer ${key}` } })
  const { data } = (await answer.json()) as {
    data: { rateLimits: { apiModelId: string; rateLimits: { amount: number }[] }[] }
  }
  return data.rateLimits.find(({ apiModelId }) => apiModelId === id)?.rateLimits[0]?.amount
}

test('other limits hold from the reload on, and what was used of this minute counts towards them', async () => {
  expect((await chat()).headers.get('x-ratelimit-limit-requests')).toBe('500')
  const limits = { models: { 'demo-chat': { requestsPerMinute: 2 } } }
  service.service.reload({ models, systemPrompt: '', limits })
  const second = await chat()
  expect([second.status, second.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '0'])
  expect((await chat()).status).toBe(429)
  expect(await limitOf('demo-chat')).toBe(2)
  service.service.reload({ models, systemPrompt: '' })
  expect(await limitOf('demo-chat'), 'limits stay where a reload names none').toBe(2)
  service.service.reload({ models, systemPrompt: '', limits: {} })
  expect((await chat()).status).toBe(200)
})

test('another plan of an account holds at once for its next request', async () => {
  const [row] = await service.store.read.selectFrom('api_key').selectAll().execute()
  const account = row?.account ?? ''
  service.service.reload({ models, systemPrompt: '', limits: { accounts: { [account]: { plan: 'partner' } } } })
  expect(await limitOf('demo-image')).toBeGreaterThan(20)
  service.service.reload({ models, systemPrompt: '', limits: {} })
  expect(await limitOf('demo-image')).toBe(20)
})

const config = (price: string) => `
publicUrl: http://127.0.0.1:8402
models:
  - id: counted
    type: text
    contextTokens: 1000
    price: { inputPerMillionUsd: ${price}, outputPerMillionUsd: 1 }
    upstreams: [{ engine: demo }]
`

test('upstream metrics continue after a reload', async () => {
  const kept = new Map<string, unknown>()
  const keep = <Engine>(name: string, make: () => Engine): Engine => {
    if (!kept.has(name)) kept.set(name, make())
    return kept.get(name) as Engine
  }
  const around = { folder: service.folder, log: { info() {}, warn() {}, error() {} }, keep }
  const read = (price: string) => readConfig(config(price), {}).openModels(around)
  const calls = async () => {
    const headers = { authorization: 'Bearer token of the figures' }
    const text = await (await service.request('/metrics', { headers })).text()
    const figure = (row: string) =>
      Number(
        text
          .split('\n')
          .find(line => line.startsWith(row))
          ?.split(' ')[1],
      )
    return {
      upstream: figure('farebox_upstream_calls_total{model="counted",upstream="demo-1"}'),
      requests: figure('farebox_requests_total{operation="createChatCompletion",status="200"}'),
    }
  }
  service.service.reload({ models: read('1'), systemPrompt: '' })
  await (await chat('counted')).text()
  const before = await calls()
  expect(before.upstream).toBe(1)
  service.service.reload({ models: read('2'), systemPrompt: '' })
  expect(await calls()).toEqual(before)
  await (await chat('counted')).text()
  expect(await calls()).toEqual({ upstream: 2, requests: before.requests + 1 })
})
