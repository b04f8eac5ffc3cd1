/** The amounts of the example in docs/charges.md are those that the service computes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type MicroUsd, microUsd, toUsdNumber } from '#contract/money.ts'
import { chatLines, estimateChat } from '#service/capabilities/chat/price-chat.ts'
import type { TextModel } from '#service/models/model.ts'
import { root } from './pages.ts'

/** Prices as the example names them, in millionths of a millionth of a USD. */
const price = { inputPicoUsd: 600_000n, outputPicoUsd: 2_400_000n }
const cachedInputPicoUsd = 60_000n
const credit = microUsd(10_000_000n)

const shown = (amount: bigint): string => `${toUsdNumber(amount as MicroUsd).toFixed(6)}`

const amountsOf = (price: TextModel['price'], cached = 0) =>
  chatLines(
    { price },
    {
      prompt_tokens: 1_200,
      completion_tokens: 350,
      total_tokens: 1_550,
      prompt_tokens_details: { cached_tokens: cached },
    },
  ).map(({ sku, amount }) => [sku, amount] as const)

test('the example of a charge has the amounts that the service computes', () => {
  const text = readFileSync(join(root, 'docs/charges.md'), 'utf8')
  const model = { price, contextTokens: 131_072, maximumCompletionTokens: 16_384 } as TextModel
  const messages = [{ role: 'user' as const, content: 'x'.repeat(4_800) }]
  const held = estimateChat(model, { model: 'm', messages, max_tokens: 1_000 } as never, credit)
  if ('needed' in held) throw new Error('The example has enough credit.')
  const [input, output] = amountsOf(price)
  const charged = (input?.[1] ?? 0n) + (output?.[1] ?? 0n)
  const cached = amountsOf({ ...price, cachedInputPicoUsd }, 1_000).find(([sku]) => sku === 'chat.input.cached')
  expect(text).toContain(`${held.maxPromptTokens.toLocaleString('en')} tokens for the prompt`)
  for (const amount of [
    held.hold,
    credit - held.hold,
    charged,
    held.hold - charged,
    credit - charged,
    input?.[1],
    output?.[1],
    cached?.[1],
  ])
    expect(text).toContain(`${shown(amount ?? -1n)} USD`)
})
