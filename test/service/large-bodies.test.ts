import { afterAll, beforeAll, expect, test } from 'vitest'
import { bodyValues } from '#contract/limits.ts'
import { closeSound } from './close-sound.ts'
import { type OpenedService, openService } from './open-service.ts'

let service: OpenedService
let key: string
beforeAll(async () => {
  service = await openService()
  key = await service.key(1)
})
afterAll(async () => {
  await closeSound(service)
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

const { usual, embeddings } = bodyValues
const names = (count: number) => Array.from({ length: count }, (_, at) => `"a${at}":0`).join()

test.each([
  ['/embeddings', `{"model":"m","input":[${zeros(5_000_000)}]}`, `${embeddings} values`],
  ['/embeddings', `{"model":"m","input":${zeros(embeddings)}}`, `${embeddings} values`],
  ['/embeddings', `{"model":"m","input":"a",${names(usual)}}`, `${usual} members`],
  ['/chat/completions', content(zeros(5_000_000)), `${usual} values`],
  ['/chat/completions', content(`[${'{},'.repeat(usual / 2)}{}]`), `${usual} values`],
  ['/chat/completions', `{"model":"m","messages":[],"unknown":{${names(usual)}}}`, `${usual} values`],
  ['/responses', `{"model":"m","input":[${zeros(usual)}]}`, `${usual} values`],
  ['/image/generate', `{"model":"m","prompt":${zeros(usual)}}`, `${usual} values`],
  ['/video/quote', `{"model":"m","duration":"5s","extra":${zeros(usual)}}`, `${usual} values`],
  ['/crypto/rpc/any', `{"method":"eth_call","params":${zeros(usual)}}`, `${usual} values`],
])('G5: a body of more values than any request has is refused by their number: %s', async (path, body, limit) => {
  const { status, text } = await send(path, body)
  expect([status, text]).toEqual([400, expect.stringContaining(`more than ${limit}`)])
  expect(text).toContain('send fewer at once')
})

test.each([
  ['/embeddings', `{"model":"m","input":[${zeros(300_000)}]}`],
  ['/embeddings', `{"model":"m","input":[${Array(2_048).fill(zeros(150)).join()}]}`],
  ['/chat/completions', content(zeros(45_000))],
  ['/chat/completions', content(`[${'{},'.repeat(22_000)}{}]`)],
])('one of nothing but faults gets the first of them: %s', async (path, body) => {
  const { status, text } = await send(path, body)
  expect([status, JSON.parse(text).issues.length]).toEqual([400, 20])
  expect(text.length).toBeLessThan(10_000)
})

/** A message of an agent’s long conversation: text, a call, and what it returned. */
const turn = (at: number) => [
  { role: 'user', content: [{ type: 'text', text: `look at ${at}`, cache_control: { type: 'ephemeral' } }] },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `call_${at}`, type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
  },
  { role: 'tool', tool_call_id: `call_${at}`, name: 'look', content: 'nothing' },
]
const property = { type: 'string', description: 'what it is', enum: ['a', 'b'] }
const properties = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`p${at}`, property]))
const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties } } }

test.each<[what: string, path: string, body: () => object]>([
  [
    'a conversation of 2,000 messages with calls, and 100 tools',
    '/chat/completions',
    () => ({
      ...{ model: 'demo-chat', max_tokens: 1, tools: Array(100).fill(tool) },
      messages: Array.from({ length: 667 }, (_, at) => turn(at)).flat(),
    }),
  ],
  [
    'a response to 2,000 messages',
    '/responses',
    () => ({
      ...{ model: 'demo-chat', max_output_tokens: 1 },
      input: Array.from({ length: 2_000 }, (_, at) => ({ role: 'user', content: `look at ${at}` })),
    }),
  ],
  ['2,048 texts', '/embeddings', () => ({ model: 'demo-embedding', input: Array(2_048).fill('a text') })],
])('%s is within the limit', async (_what, path, body) => {
  const { status, text } = await send(path, JSON.stringify(body()))
  expect([status, text]).toEqual([200, expect.any(String)])
})
