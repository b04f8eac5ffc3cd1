import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { type ChatFixture, openFixture } from './chat-fixture.ts'
import { used, words } from './chat-script.ts'

/** Fractions of a micro-USD a token, so that each part of a charge has a fraction of its own. */
const price = { inputPicoUsd: 150_000n, outputPicoUsd: 600_000n }
const search = { search: async () => [] }

let fixture: ChatFixture
beforeAll(async () => {
  fixture = await openFixture({ search, model: { price } })
})
afterAll(() => fixture.service.close())

test.each([
  ['whole', false],
  ['streamed', true],
])('the question whether to search and the answer, %s, are rounded up once, together', async (_, stream) => {
  fixture.engine.play([...words('SEARCH: fares'), { usage: used(7, 2) }])
  const customer = await fixture.customer(1)
  const options = { enable_web_search: 'auto' }
  const response = await fixture.chat(customer, { service_parameters: options, max_tokens: 50, stream })
  await response.text()
  await expect.poll(() => fixture.openHolds()).toBe(0)
  const { charged, skus } = await fixture.ledger(customer.account)
  expect(skus).toEqual(expect.arrayContaining(['chat.input', 'chat.output', 'chat.search.input', 'chat.search.output']))
  const searched = skus.includes('web.search') ? 10_000n : 0n
  // Twice 7 × 0.15 and 2 × 0.6 are 4.5; each by itself would be 3, rounded up.
  expect(charged).toBe(5n + searched)
  expect((await audit(fixture.service.database)).findings).toEqual([])
})
