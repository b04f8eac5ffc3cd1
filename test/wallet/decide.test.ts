import fc from 'fast-check'
import { expect, test } from 'vitest'
import { evmNetwork, solanaNetwork, usdcOnSolana } from '#contract/wire/networks.ts'
import { type Decision, decide, decideCall, type Situation } from '#wallet/rules/decide.ts'
import type { PolicySettings } from '#wallet/rules/policy.ts'
import type { Order } from '#wallet/terms/order.ts'
import { attacker, option, order, origin, payTo, policy, usd } from './sample-wallet.ts'

const nowMs = Date.UTC(2026, 10, 21)
const nothingSpent = { dayMicroUsd: 0n, totalMicroUsd: 0n, oldestOfDayAtMs: null, lastPaymentAtMs: null }
const situation = (changes: Partial<Situation> = {}): Situation => ({
  nowMs,
  spent: nothingSpent,
  approvedPayees: [],
  isStopped: false,
  payer: '0x3333333333333333333333333333333333333333',
  ...changes,
})

const pays = (amountUsd: number) => (decision: Decision) =>
  expect(decision).toMatchObject({ kind: 'allowed', amountMicroUsd: usd(amountUsd) })
const paysOnceAgreed = (amountUsd: number) => (decision: Decision) =>
  expect(decision).toMatchObject({ kind: 'needs_approval', onceApproved: { amountMicroUsd: usd(amountUsd) } })
const refuses = (rule: string) => (decision: Decision) =>
  expect(decision).toMatchObject({ kind: 'refused', refusal: { rule } })
const asks = (kind: string) => (decision: Decision) =>
  expect(decision).toMatchObject({ kind: 'needs_approval', facts: { kind } })

type Row = [
  rule: string,
  order: Partial<Order>,
  expected: (decision: Decision) => void,
  situation?: Partial<Situation>,
  policy?: Partial<PolicySettings>,
]

const spent = (changes: Partial<Situation['spent']>) => ({ spent: { ...nothingSpent, ...changes } })
const offer = (...changes: Parameters<typeof option>) => ({ accepts: [option(...changes)] })
const day = { dayMicroUsd: 5_000_000n, totalMicroUsd: 5_000_000n }

const rows: Row[] = [
  ['after a 402 the minimum is paid where less is missing', { amountMicroUsd: usd(0.000001) }, pays(5)],
  [
    'after a 402 what is missing is paid where it is more',
    { amountMicroUsd: usd(7) },
    pays(7),
    {},
    { maxPaymentUsd: '8' },
  ],
  ['exactly the cap is within it', { amountMicroUsd: usd(5) }, pays(5)],
  ['the suggested 10 is never paid', offer({ amount: '10000000' }), refuses('price-bait'), {}, { maxPaymentUsd: '10' }],
  ['an offer below the minimum is paid with the minimum', offer({ amount: '1' }), pays(5)],
  ['an order above the cap', { amountMicroUsd: usd(5.000001) }, refuses('max-payment')],
  ['an order of nothing', { amountMicroUsd: usd(0) }, refuses('order')],
  ['a negative order', { amountMicroUsd: usd(-5) }, refuses('order')],
  ['an asked top-up below the minimum', { occasion: 'asked', amountMicroUsd: usd(4.999999) }, refuses('minimum')],
  ['a requested top-up needs approval', { occasion: 'asked', amountMicroUsd: usd(5) }, asks('spend')],
  ['once the user approved it is paid', { occasion: 'asked', amountMicroUsd: usd(5) }, paysOnceAgreed(5)],
  ['an approval lifts no cap', { occasion: 'asked', amountMicroUsd: usd(6) }, refuses('max-payment')],
  [
    'an asked one below the asking threshold',
    { occasion: 'asked', amountMicroUsd: usd(5) },
    pays(5),
    {},
    { askAboveUsd: '5' },
  ],
  ['the last payment of a day', {}, pays(5), spent(day)],
  ['the day is full', {}, refuses('max-day'), spent({ ...day, dayMicroUsd: 5_000_001n })],
  ['the total is full', {}, refuses('max-total'), spent({ totalMicroUsd: 15_000_001n })],
  ['a cap of nothing pays nothing', {}, refuses('max-payment'), {}, { maxPaymentUsd: '0' }],
  ['just paid', {}, refuses('cooldown'), spent({ lastPaymentAtMs: nowMs - 59_999 })],
  ['paid a minute ago', {}, pays(5), spent({ lastPaymentAtMs: nowMs - 60_000 })],
  [
    'an approved top-up need not wait',
    { occasion: 'asked', amountMicroUsd: usd(5) },
    paysOnceAgreed(5),
    spent({ lastPaymentAtMs: nowMs }),
  ],
  ['the switch is off', {}, refuses('stopped'), { isStopped: true }],
  ['another origin', { origin: 'https://other.example' }, refuses('origin')],
  ['a lookalike origin', { origin: 'https://serv1ce.example' }, refuses('origin')],
  ['the origin as a prefix', { origin: `${origin}.evil.example` }, refuses('origin')],
  ['another port of it', { origin: `${origin}:8443` }, refuses('origin')],
  ['the same host unencrypted', { origin: 'http://service.example' }, refuses('origin')],
  ['an unknown payee', offer({ payTo: attacker }), asks('payee')],
  ['the known payee among unknown ones', { accepts: [option({ payTo: attacker }), option()] }, pays(5)],
  [
    'a payee that the user approved',
    offer({ payTo: attacker }),
    pays(5),
    { approvedPayees: [{ origin, network: evmNetwork, asset: option().asset.toLowerCase(), payTo: attacker }] },
  ],
  [
    'a payee agreed to for another service',
    offer({ payTo: attacker }),
    asks('payee'),
    {
      approvedPayees: [
        { origin: 'https://other.example', network: evmNetwork, asset: option().asset, payTo: attacker },
      ],
    },
  ],
  [
    'an unknown payee above the cap is refused without asking',
    { ...offer({ payTo: attacker }), amountMicroUsd: usd(9) },
    refuses('max-payment'),
  ],
  ['the payee in other case', offer({ payTo: payTo.toUpperCase().replace('0X', '0x') }), pays(5)],
  ['a payee that is not an address', offer({ payTo: 'service.eth' }), refuses('recipient')],
  ['the zero address', offer({ payTo: `0x${'0'.repeat(40)}` }), refuses('recipient')],
  ['another chain', offer({ network: 'eip155:1' }), refuses('network')],
  ['a test chain', offer({ network: 'eip155:84532' }), refuses('network')],
  ['a bare network name', offer({ network: 'base' }), refuses('network')],
  ['Solana alone', offer({ network: solanaNetwork, asset: usdcOnSolana }), refuses('network')],
  ['another token', offer({ asset: attacker }), refuses('asset')],
  ['another scheme', { accepts: [{ ...option(), scheme: 'upto' } as never] }, refuses('scheme')],
  [
    'permit2',
    offer({ extra: { name: 'USD Coin', version: '2', assetTransferMethod: 'permit2' } }),
    refuses('transfer-method'),
  ],
  ['no token name', offer({ extra: { version: '2' } }), refuses('token-name')],
  ['no token version', offer({ extra: { name: 'USD Coin' } }), refuses('token-name')],
  ['no extra', { accepts: [{ ...option(), extra: undefined as never }] }, refuses('token-name')],
  ['a token name that is not text', offer({ extra: { name: 5, version: '2' } }), refuses('token-name')],
  ['a bloated extra', offer({ extra: { name: 'USD Coin', version: '2', more: 'x'.repeat(3_000) } }), refuses('offer')],
  [
    'decimals in extra count for nothing',
    offer({ extra: { name: 'USD Coin', version: '2', decimals: 18 }, amount: '5000000' }),
    pays(5),
  ],
  ['18 decimals', offer({ amount: '5000000000000000000' }), refuses('amount-text')],
  ['17 digits', offer({ amount: '50000000000000000' }), refuses('price-bait')],
  ['a hexadecimal amount', offer({ amount: '0x4c4b40' }), refuses('amount-text')],
  ['an amount with a sign', offer({ amount: '+5000000' }), refuses('amount-text')],
  ['an amount with a space', offer({ amount: ' 5000000' }), refuses('amount-text')],
  ['an empty amount', offer({ amount: '' }), refuses('amount-text')],
  ['an amount with an exponent', offer({ amount: '5e6' }), refuses('amount-text')],
  ['a decimal amount', offer({ amount: '5.0' }), refuses('amount-text')],
  ['an amount of nothing', offer({ amount: '0' }), refuses('amount-text')],
  ['an amount that is a number', { accepts: [{ ...option(), amount: 5_000_000 as never }] }, refuses('amount-text')],
  ['an authorization of a year', offer({ maxTimeoutSeconds: 31_536_000 }), refuses('authorization-lifetime')],
  ['of ten minutes and a second', offer({ maxTimeoutSeconds: 601 }), refuses('authorization-lifetime')],
  ['of ten minutes', offer({ maxTimeoutSeconds: 600 }), pays(5)],
  ['of no time', offer({ maxTimeoutSeconds: 0 }), refuses('authorization-lifetime')],
  ['of half seconds', offer({ maxTimeoutSeconds: 10.5 }), refuses('authorization-lifetime')],
  ['the dearer offer first', { accepts: [option({ amount: '9000000' }), option()] }, pays(5)],
  ['a mainnet before the allowed chain', { accepts: [option({ network: 'eip155:1' }), option()] }, pays(5)],
  ['no offer', { accepts: [] }, refuses('offer')],
  ['an offer that is nothing', { accepts: [null as never] }, refuses('offer')],
  [
    'the sound offer after sixteen others',
    { accepts: [...Array(16).fill(option({ network: 'eip155:1' })), option()] },
    refuses('network'),
  ],
]

test.each(rows)('%s', (_, changes, expected, when, settings) => {
  expected(decide(policy(settings), situation(when), order(changes)))
})

test('no offer makes the wallet pay more than the order, a cap, another payee or another token', () => {
  const strange = fc.oneof(
    fc.string(),
    fc.constantFrom('5000000', payTo, attacker, 'exact', evmNetwork, '0x5'),
    fc.nat(),
  )
  const anyOption = fc.record(
    {
      scheme: fc.oneof(fc.constant('exact'), strange),
      network: fc.oneof(fc.constant(evmNetwork), strange),
      amount: fc.oneof(fc.bigInt(0n, 20_000_000n).map(String), strange),
      asset: fc.oneof(fc.constant(option().asset), strange),
      payTo: fc.oneof(fc.constantFrom(payTo, attacker), strange),
      maxTimeoutSeconds: fc.oneof(fc.nat(1_000), fc.double()),
      extra: fc.oneof(fc.constant({ name: 'USD Coin', version: '2' }), fc.dictionary(fc.string(), fc.anything())),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.array(anyOption, { maxLength: 4 }), fc.bigInt(-1n, 9_000_000n), (accepts, amount) => {
      const decision = decide(
        policy(),
        situation(),
        order({ accepts: accepts as never, amountMicroUsd: amount as never }),
      )
      if (decision.kind !== 'allowed') return
      expect(decision.amountMicroUsd).toBe(amount < 5_000_000n ? 5_000_000n : amount)
      expect(decision.amountMicroUsd).toBeLessThanOrEqual(5_000_000n)
      expect(decision.chosen.payee).toMatchObject({ payTo, network: evmNetwork, asset: option().asset })
      expect(decision.chosen.option.maxTimeoutSeconds).toBeLessThanOrEqual(600)
    }),
  )
})

const calls: [rule: string, quotedUsd: number | null, kind: string, isStopped?: boolean][] = [
  ['a call at the asking threshold', 1, 'allowed'],
  ['a call above it', 1.000001, 'needs_approval'],
  ['a call without a price', null, 'needs_approval'],
  ['a call above the cap, even if approved', 10.000001, 'refused'],
  ['a call while the switch is off', 0, 'refused', true],
]

test.each(calls)('%s', (_, quotedUsd, kind, isStopped = false) => {
  const quotedMicroUsd = quotedUsd === null ? null : usd(quotedUsd)
  expect(decideCall(policy(), { isStopped }, { what: 'A video', quotedMicroUsd }).kind).toBe(kind)
})
