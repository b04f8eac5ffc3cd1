import { afterAll, beforeAll, expect, test } from 'vitest'
import { bodyValues } from '#contract/limits.ts'
import { type OpenedService, openService } from './open-service.ts'

let service: OpenedService
let key: string
beforeAll(async () => {
  service = await openService()
  key = await service.key(1)
})
afterAll(async () => {
  expect(service.logged.filter(line => line.level === 'error')).toEqual([])
  await service.close()
})

const zeros = (count: number) => `[${'0,'.repeat(count - 1)}0]`
const content = (values: string) => `{"model":"m","messages":[{"role":"user","content":${values}}]}`

const send = async (path: string, body: string) => {
  const response = await service.request(`/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body,
  })
  return { status: response.status, text: await response.text() }
}

test.each([
  ['/embeddings', `{"model":"m","input":[${zeros(5_000_000)}]}`],
  ['/embeddings', `{"model":"m","input":${zeros(bodyValues)}}`],
  ['/chat/completions', content(zeros(5_000_000))],
  ['/chat/completions', content(`[${'{},'.repeat(bodyValues / 2)}{}]`)],
  ['/chat/completions', `{"model":"m","messages":[],"unknown":{${'"a":0,'.repeat(bodyValues)}"a":0}}`],
  ['/image/generate', `{"model":"m","prompt":${zeros(bodyValues)}}`],
  ['/video/quote', `{"model":"m","duration":"5s","extra":${zeros(bodyValues)}}`],
])('a body of more values than any request has is refused by their number: %s', async (path, body) => {
  const { status, text } = await send(path, body)
  expect([status, text]).toEqual([400, expect.stringContaining(`more than ${bodyValues} values`)])
})

test.each([
  ['/embeddings', `{"model":"m","input":[${zeros(300_000)}]}`],
  ['/embeddings', `{"model":"m","input":[${Array(2_048).fill(zeros(150)).join()}]}`],
  ['/chat/completions', content(zeros(300_000))],
  ['/chat/completions', content(`[${'{},'.repeat(150_000)}{}]`)],
])('one of nothing but faults gets the first of them: %s', async (path, body) => {
  const { status, text } = await send(path, body)
  expect([status, JSON.parse(text).issues.length]).toEqual([400, 20])
  expect(text.length).toBeLessThan(10_000)
})
