/** Where USDC can be bought, as the operator of a service names it and the user sees it. */
import { expect, onTestFinished, test } from 'vitest'
import { withWaysToFund } from '#agent/words/explain.ts'
import { zeroUsd } from '#contract/money.ts'
import { onRampAt } from '#contract/wire/on-ramp.ts'
import type { HoldingsView } from '#pages/wallet/wire.ts'
import { paymentOptionsOf } from '#payments/rails/rails.ts'
import { PaymentConfig, paymentSettings } from '#service/config/payment-config.ts'
import { openAgent } from './open-agent.ts'
import { openedWalletPage, visit } from './opened-wallet-page.ts'
import { option, payTo, pretendService } from './pretend-service.ts'

const terms = { address: payTo, network: 'eip155:8453' }
const onRamp = 'https://buy.example/usdc?to={address}&on={network}'
const filled = { url: `https://buy.example/usdc?to=${payTo}&on=base`, host: 'buy.example' }

test('an operator’s link is in each option of the 402, beside what wallets sign', () => {
  const evm = { payTo, rpcUrl: 'https://node.example', facilitator: { url: 'https://facilitator.example' } }
  const solana = {
    payTo: 'So11111111111111111111111111111111111111112',
    rpcUrl: 'https://node.example',
    facilitator: { url: 'https://facilitator.example', feePayer: 'So11111111111111111111111111111111111111112' },
  }
  const options = paymentOptionsOf(paymentSettings(PaymentConfig.parse({ evm, solana, onRamp })))
  expect(options.map(({ extra }) => extra)).toMatchObject([{ name: 'USD Coin', onRamp }, { onRamp }])
  const without = paymentOptionsOf(paymentSettings(PaymentConfig.parse({ evm })))
  expect(without[0]?.extra).toEqual({ name: 'USD Coin', version: '2' })
})

test.each([
  ['no encryption', 'http://buy.example'],
  ['a script', 'javascript:alert(1)'],
  ['a name that looks like the host', 'https://bank.example@evil.example/'],
  ['a text that is not an address', 'buy here'],
  ['more than fits into a header', `https://buy.example/${'x'.repeat(500)}`],
  ['a value of another kind', 7],
])('%s is not a link, for the operator and for the wallet', (_, value) => {
  const evm = { payTo, rpcUrl: 'https://node.example', facilitator: { url: 'https://facilitator.example' } }
  expect(PaymentConfig.safeParse({ evm, onRamp: value }).success).toBe(false)
  expect(onRampAt(value, terms)).toBe(null)
})

test('an address cannot add to the link', () => {
  expect(onRampAt(onRamp, { ...terms, address: '0x1&amount=9#' })?.url).toContain('to=0x1%26amount%3D9%23&on=base')
})

test('the conversation names every way, and the service’s link as its own words', () => {
  const facts = { happened: 'The wallet holds 0.00 USDC.', charged: zeroUsd, next: 'Send at least 5.' }
  const accepts = [option({ extra: { name: 'USD Coin', version: '2', onRamp } })]
  const { next, said } = withWaysToFund(facts, accepts, terms)
  for (const word of ['another wallet', 'exchange', 'Base', 'has not checked']) expect(next).toContain(word)
  expect([next.includes('buy.example'), said]).toEqual([false, filled.url])
  const without = withWaysToFund(facts, [option()], terms)
  expect([without.said, without.next]).toEqual([undefined, expect.not.stringContaining('proposes')])
})

test('the wallet’s page shows it beside the address of its network', async () => {
  const service = await pretendService()
  const agent = await openAgent({ baseUrl: service.baseUrl })
  onTestFinished(service.close)
  onTestFinished(agent.close)
  const seen = { amountMicroUsd: null, atMs: null, unknown: 'not asked' }
  const opened = await openedWalletPage(agent.dataFolder, 'https://service.example/api/v1', {
    holdings: async () => ({
      ...{ creditMicroUsd: null, creditSeen: seen, onChain: [{ ...terms, ...seen }] },
      accepts: [option({ extra: { name: 'USD Coin', version: '2', onRamp } })],
    }),
  })
  onTestFinished(opened.close)
  const { ask } = await visit(opened.page.link())
  expect(((await ask('GET /api/holdings')).json as HoldingsView).balances).toMatchObject([{ onRamp: filled }])
})
