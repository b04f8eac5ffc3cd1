/** What keeps an option from being offered, as the operator reads it before any payer does. */
import { expect, test } from 'vitest'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { offerProblem } from '#payments/evm/evm-checks.ts'

const payTo = `0x${'cC'.repeat(20)}`
const option: PaymentOption = {
  ...{ scheme: 'exact', network: evmNetwork, amount: '5000000', asset: usdcOnEvm, payTo, maxTimeoutSeconds: 300 },
  extra: { name: 'USD Coin', version: '2' },
}

const rows: [
  rule: string,
  chain: { id?: number; code?: string | undefined; blocks?: string },
  offered: object,
  says: RegExp | null,
][] = [
  ['nothing', {}, {}, null],
  ['nothing, whose payee has an address of many zeros', {}, { payTo: `0x${'0'.repeat(39)}1` }, null],
  ['nothing, whose payee’s address begins with a one', {}, { payTo: `0x1${'0'.repeat(39)}` }, null],
  ['a node of another chain', { id: 1 }, {}, /chain 1, not 8453/],
  ['a missing payee', {}, { payTo: `0x${'0'.repeat(40)}` }, /^0x0{40} cannot receive/],
  ['an address of 39 digits', {}, { payTo: payTo.slice(0, -1) }, /cannot receive/],
  ['an address of 41 digits', {}, { payTo: `${payTo}a` }, /cannot receive/],
  ['something before an address', {}, { payTo: ` ${payTo}` }, /cannot receive/],
  ['no code at the token', { code: undefined }, {}, /no token at 0x8335/],
  ['empty code at the token', { code: '0x' }, {}, /no token at 0x8335/],
  [
    'another name',
    {},
    { extra: { name: 'USDC', version: '2' } },
    /the name "USD Coin"; set `payments\.evm\.token\.name`/,
  ],
  [
    'another version',
    {},
    { extra: { name: 'USD Coin', version: '1' } },
    /the version "2"; set `payments\.evm\.token\.version`/,
  ],
  ['a payee that the issuer of the token has blocked', { blocks: payTo }, {}, /has blocked 0xcC.*to another address/],
  ['nothing, though the issuer of the token has blocked another', { blocks: usdcOnEvm }, {}, null],
  ['no name', {}, { extra: undefined }, /the name "USD Coin"; set `payments\.evm\.token\.name`/],
]
test.each(rows)('%s keeps it back', async (_rule, chain, offered, says) => {
  const client = {
    getChainId: async () => chain.id ?? 8453,
    getCode: async () => ('code' in chain ? chain.code : '0x6000'),
    readContract: async ({ functionName, args }: { functionName: string; args?: string[] }) => {
      if (functionName !== 'isBlacklisted') return { name: 'USD Coin', version: '2' }[functionName]
      // A token without such a list.
      if (chain.blocks === undefined) throw new Error('reverted')
      return args?.[0] === chain.blocks
    },
  }
  const problem = await offerProblem(client as never, { ...option, ...offered })
  if (says) expect(problem).toMatch(says)
  else expect(problem).toBeNull()
})
