/** A message may be megabytes of addresses, and nothing else in the process runs while they are looked at. */
import { expect, test, vi } from 'vitest'
import type { ChatCompletionRequest } from '#contract/operations/chat.ts'
import { chatOptions } from '#service/capabilities/chat/chat-options.ts'
import { webPlan } from '#service/capabilities/chat/chat-web.ts'
import { textModel } from './models/example-models.ts'

function planOf(content: string, parameters: ChatCompletionRequest['service_parameters']) {
  const model = textModel()
  const request = { model: model.id, messages: [{ role: 'user', content }], service_parameters: parameters }
  const asked = request as ChatCompletionRequest
  return webPlan(chatOptions(asked), model, asked)
}

const many = (address: (each: number) => string) => Array.from({ length: 50_000 }, (_, each) => address(each)).join(' ')
const firstFive = [0, 1, 2, 3, 4].map(each => `https://a${each}.example`)

test.each<[what: string, text: string, urls: readonly string[] | null]>([
  ['that can be read', many(each => `https://a${each}.example`), firstFive],
  ['that are one', many(() => 'https://a0.example.'), firstFive.slice(0, 1)],
  ['that cannot be read', many(each => `https://[${each}`), null],
  ['and one with a million dots', `https://a.example/${'.'.repeat(1_000_000)}`, null],
])('G6: of many addresses %s, few are looked at', (_what, text, urls) => {
  const parses = vi.spyOn(URL, 'canParse')
  const plan = planOf(text, { enable_web_scraping: true })
  const looked = parses.mock.calls.length
  parses.mockRestore()
  expect(plan?.kind === 'pages' ? plan.urls : null).toEqual(urls)
  expect(looked).toBeLessThanOrEqual(1_000)
})
