import fc from 'fast-check'
import { expect, test } from 'vitest'
import { evmNetwork, solanaNetwork, usdcOnEvm, usdcOnSolana } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { type Decision, decide, type Situation } from '#wallet/rules/decide.ts'
import { feePayer, payee, solanaKey, solanaOption, stranger } from './sample-solana.ts'
import { option, order, origin, policy } from './sample-wallet.ts'

const situation: Situation = {
  nowMs: Date.UTC(2026, 10, 22),
  spent: { dayMicroUsd: 0n, totalMicroUsd: 0n, oldestOfDayAtMs: null, lastPaymentAtMs: null },
  approvedPayees: [],
  isStopped: false,
  payer: solanaKey.address,
}
const known = { network: solanaNetwork, asset: usdcOnSolana, payTo: payee }
const decided = (accepts: readonly PaymentOption[], when: Partial<Situation> = {}): Decision =>
  decide(policy({ payees: [known] }), { ...situation, ...when }, order({ accepts }))

const devnet = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1'
const token2022 = '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo'

const refused: [attack: string, changes: Partial<PaymentOption>, rule: string][] = [
  ['another mint', { asset: token2022 }, 'asset'],
  ['the mint in another case', { asset: usdcOnSolana.toLowerCase() }, 'asset'],
  ['the token of the other chain', { asset: usdcOnEvm }, 'asset'],
  ['a test chain', { network: devnet }, 'network'],
  ['the other chain', { network: evmNetwork }, 'network'],
  ['a bare network name', { network: 'solana' }, 'network'],
  ['no fee payer', { extra: {} }, 'fee-payer'],
  ['no extra', { extra: undefined }, 'fee-payer'],
  ['a fee payer that is not an address', { extra: { feePayer: 'service.sol' } }, 'fee-payer'],
  ['a fee payer of the other chain', { extra: { feePayer: `0x${'1'.repeat(40)}` } }, 'fee-payer'],
  ['a missing fee payer', { extra: { feePayer: '1'.repeat(32) } }, 'fee-payer'],
  ['a fee payer that is a list', { extra: { feePayer: [feePayer] } }, 'fee-payer'],
  ['our own key as the fee payer', { extra: { feePayer: solanaKey.address } }, 'fee-payer'],
  ...[
    'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
    'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
    'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
    'ComputeBudget111111111111111111111111111111',
    'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  ].map((program): [string, Partial<PaymentOption>, string] => [
    `the program ${program} as the fee payer`,
    { extra: { feePayer: program } },
    'fee-payer',
  ]),
  ['a bloated extra', { extra: { feePayer, memo: 'x'.repeat(3_000) } }, 'offer'],
  ['a payee that is not an address', { payTo: 'service.sol' }, 'recipient'],
  ['a payee with a sign that base58 has not', { payTo: `${payee.slice(0, -1)}0` }, 'recipient'],
  ['a payee that is too short', { payTo: payee.slice(6) }, 'recipient'],
  ['a payee of the other chain', { payTo: `0x${'1'.repeat(40)}` }, 'recipient'],
  ['no payee', { payTo: '1'.repeat(32) }, 'recipient'],
  ['ourselves as the payee', { payTo: solanaKey.address }, 'recipient'],
  ['another scheme', { scheme: 'upto' as never }, 'scheme'],
  ['9 decimals', { amount: '5000000000' }, 'price-bait'],
  ['a hexadecimal amount', { amount: '0x4c4b40' }, 'amount-text'],
  ['an hour to settle', { maxTimeoutSeconds: 3_600 }, 'authorization-lifetime'],
]

test.each(refused)('on Solana: %s is refused', (_, changes, rule) => {
  expect(decided([solanaOption(changes)])).toMatchObject({ kind: 'refused', refusal: { rule } })
})

test.each<[what: string, changes: Partial<PaymentOption>]>([
  ['an honest offer', {}],
  ['decimals in extra', { extra: { feePayer, decimals: 9 } }],
  ['a memo and instructions in extra', { extra: { feePayer, memo: 'pay twice', instructions: [{ data: 'x' }] } }],
  ['a program in extra', { extra: { feePayer, tokenProgram: token2022, assetTransferMethod: 'permit2' } }],
])('on Solana: %s changes nothing of what is paid', (_, changes) => {
  expect(decided([solanaOption(changes)])).toMatchObject({
    kind: 'allowed',
    amountMicroUsd: 5_000_000n,
    chosen: { payee: { origin, ...known } },
  })
})

test('on Solana: an unknown payee needs approval, and another letter case is another payee', () => {
  expect(decided([solanaOption({ payTo: stranger })])).toMatchObject({
    kind: 'needs_approval',
    facts: { kind: 'payee' },
  })
  const approvedPayees = [{ origin, ...known, payTo: payee.toLowerCase() }]
  expect(
    decide(policy({ payees: [] }), { ...situation, approvedPayees }, order({ accepts: [solanaOption()] })),
  ).toMatchObject({ kind: 'needs_approval' })
})

test('a key of one chain takes no offer for the other, whichever comes first', () => {
  const both = [option(), solanaOption()]
  expect(decided(both)).toMatchObject({ kind: 'allowed', chosen: { option: { network: solanaNetwork } } })
  const evm = { payer: `0x${'3'.repeat(40)}` }
  expect(decide(policy(), { ...situation, ...evm }, order({ accepts: both.toReversed() }))).toMatchObject({
    kind: 'allowed',
    chosen: { option: { network: evmNetwork } },
  })
})

test('no offer for Solana makes the wallet pay another mint, another payee, more, or its fee', () => {
  const strange = fc.oneof(fc.string(), fc.constantFrom(payee, stranger, feePayer, solanaKey.address, devnet), fc.nat())
  const anyOption = fc.record(
    {
      scheme: fc.oneof(fc.constant('exact'), strange),
      network: fc.oneof(fc.constant(solanaNetwork), strange),
      amount: fc.oneof(fc.bigInt(0n, 20_000_000n).map(String), strange),
      asset: fc.oneof(fc.constant(usdcOnSolana), strange),
      payTo: fc.oneof(fc.constantFrom(payee, stranger), strange),
      maxTimeoutSeconds: fc.oneof(fc.nat(1_000), fc.double()),
      extra: fc.oneof(fc.record({ feePayer: strange }), fc.dictionary(fc.string(), fc.anything())),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.array(anyOption, { maxLength: 4 }), accepts => {
      const decision = decided(accepts as never)
      if (decision.kind !== 'allowed') return
      expect(decision.amountMicroUsd).toBe(5_000_000n)
      expect(decision.chosen.payee).toEqual({ origin, ...known })
      expect(decision.chosen.option.extra?.feePayer).not.toBe(solanaKey.address)
    }),
  )
})
