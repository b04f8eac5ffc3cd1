import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { modelOffline } from '#contract/errors/errors.ts'
import { addressCharacters } from '#engines/fetch/fetcher.ts'
import { PageUnread } from '#engines/ports/engine.ts'
import { type ChatFixture, inputMicroUsd, openFixture, outputMicroUsd } from './chat-fixture.ts'
import { used, words } from './chat-script.ts'
import { closeSound } from './close-sound.ts'

const searched: string[] = []
const read: string[] = []
const web = {
  async search({ query }: { query: string }) {
    searched.push(query)
    return []
  },
  async read({ url }: { url: string }): Promise<never> {
    read.push(url)
    throw new PageUnread('could not be read')
  },
}

/** A quarter of its context is for the web. */
const contextTokens = 8_192
const contextBytes = 2_048

let fixture: ChatFixture
beforeAll(async () => {
  fixture = await openFixture({ search: web, pages: web, model: { contextTokens, maximumCompletionTokens: 1_000 } })
  fixture.engine.play([...words('An', ' answer'), { usage: used(100, 10) }])
})
afterEach(() => vi.restoreAllMocks())
afterAll(async () => {
  await closeSound(fixture.service)
})

test.each([false, true])(
  'auto: a model that does not decide costs nothing for it, and the chat goes on; stream: %s',
  async stream => {
    vi.spyOn(fixture.engine, 'complete').mockRejectedValueOnce(modelOffline())
    const customer = await fixture.customer(1)
    const answer = await fixture.chat(customer, { service_parameters: { enable_web_search: 'auto' }, stream })
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('answer')])
    expect(JSON.stringify(fixture.engine.calls.at(-1)?.request.messages)).toContain('search for the newest message')
    expect([searched, await fixture.ledger(customer.account)]).toEqual([
      [],
      expect.objectContaining({
        charged: 100n * inputMicroUsd + 10n * outputMicroUsd,
        skus: ['chat.input', 'chat.output'],
      }),
    ])
  },
)

test('addresses that cannot be read take no more of the context than what is found would, and too long ones none', async () => {
  const fit = Array.from({ length: 4 }, (_, index) => `https://example.com/${index}${'ü'.repeat(600)}`)
  const tooLong = `https://example.com/${'x'.repeat(addressCharacters)}`
  const content = [tooLong, ...fit].join(' ')
  const options = { enable_web_scraping: true, enable_web_search: 'off' }
  const customer = await fixture.customer(1)
  const messages = [{ role: 'user', content }]
  expect((await fixture.chat(customer, { service_parameters: options, messages, max_tokens: 50 })).status).toBe(200)
  expect(read).toEqual(fit)
  const told = fixture.engine.calls.at(-1)?.request.messages.filter(({ role }) => role === 'system') ?? []
  const note = String(told[0]?.content)
  expect(told).toHaveLength(1)
  expect(note).toContain('https://example.com/0')
  expect(note).not.toContain('xxxx')
  expect(Buffer.byteLength(note)).toBeLessThanOrEqual(contextBytes)
})
