import { describe, expect, test } from 'vitest'
import { type ChatFixture, openFixture } from './chat-fixture.ts'
import { textModel } from './models/example-models.ts'
import { ScriptedWeb } from './scripted-web.ts'

const web = new ScriptedWeb()

describe('unsupported fields are refused by name, without a charge', () => {
  const { capabilities } = textModel()
  test.each<[what: string, options: object, model: object, words: string]>([
    ['a search of posts', { enable_x_search: true }, {}, 'enable_x_search: scripted has no search'],
    [
      'a search before a model that takes none',
      { enable_web_search: 'on' },
      { capabilities: { ...capabilities, supportsWebSearch: false } },
      'enable_web_search: scripted does not support search results',
    ],
  ])('%s', async (_what, options, model, text) => {
    const other = await openFixture({ search: web, pages: web, model })
    const response = await other.chat(await other.customer(1), { service_parameters: options })
    expect([response.status, JSON.stringify(await response.json())]).toEqual([400, expect.stringContaining(text)])
    await other.service.close()
  })

  test('what is not set up, and a record that does not claim it', async () => {
    const bare = await openFixture()
    const fixture = await openFixture({ search: web, pages: web })
    for (const options of [{ enable_web_search: 'auto' }, { enable_web_scraping: true }]) {
      const response = await bare.chat(await bare.customer(1), { service_parameters: options })
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining('is not available at this service'),
      ])
    }
    const claims = async ({ service }: ChatFixture) => {
      const list = (await (await service.request('/api/v1/models')).json()) as {
        data: { model_spec: { capabilities: object } }[]
      }
      return list.data.map(({ model_spec: spec }) => spec.capabilities)
    }
    expect(await claims(bare)).toMatchObject([{ supportsWebSearch: false }])
    expect(await claims(fixture)).toMatchObject([{ supportsWebSearch: true }])
    await bare.service.close()
    await fixture.service.close()
  })
})
