import { afterAll, beforeAll, expect, test } from 'vitest'
import { textModel, videoModel } from './models/example-models.ts'
import { type OpenedService, openService } from './open-service.ts'

let service: OpenedService
beforeAll(async () => {
  const text = textModel({ traits: ['default', 'fastest'], compatibleIds: ['gpt-4o'] })
  service = await openService({
    models: ({ chat }) => [
      { ...text, engine: chat },
      videoModel(),
      textModel({ id: 'other', traits: ['most_intelligent'] }),
    ],
  })
})
afterAll(() => service.close())

const answers: [rule: string, path: string, type: string, data: Record<string, string>][] = [
  [
    '§6.2 traits of text models',
    '/models/traits',
    'text',
    { default: 'demo-chat', fastest: 'demo-chat', most_intelligent: 'other' },
  ],
  ['§6.2 traits of another type', '/models/traits?type=video', 'video', { default: 'demo-video' }],
  ['§6.2 a type without models', '/models/traits?type=music', 'music', {}],
  ["§6.2 other providers' ids", '/models/compatibility_mapping', 'text', { 'gpt-4o': 'demo-chat' }],
  ["§6.2 other providers' ids of another type", '/models/compatibility_mapping?type=video', 'video', {}],
]
test.each(answers)('%s, without a key', async (_rule, path, type, data) => {
  const response = await service.request(`/api/v1${path}`)
  expect([response.status, await response.json()]).toEqual([200, { object: 'list', type, data }])
})

test.each(['/models/traits', '/models/compatibility_mapping'])('%s takes single types only', async path => {
  const response = await service.request(`/api/v1${path}?type=all`)
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('embedding')])
})

test.each(['fastest', 'gpt-4o'])('a chat with the model %s is answered by the one behind it', async model => {
  const body = { model, messages: [{ role: 'user', content: 'hello' }] }
  const response = await service.post('/chat/completions', body, await service.key(1))
  expect([response.status, ((await response.json()) as { model: string }).model]).toEqual([200, 'demo-chat'])
})
