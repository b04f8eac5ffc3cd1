/** What a refusal tells its caller to compare with: allowed values, and never what was sent. */
import { expect, test } from 'vitest'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { ReceivedPayment } from '#payments/payment/payment.ts'
import { checkTerms, decodePayment, untimely } from '#payments/rails/rails.ts'
import { refusalOfError } from '#payments/solana/svm-rail.ts'

const payTo = `0x${'c'.repeat(40)}`
const network = 'eip155:8453'
const option: PaymentOption = {
  ...{ scheme: 'exact', network, amount: '10000000', asset: usdcOnEvm, payTo },
  maxTimeoutSeconds: 300,
}
const authorization = {
  ...{ from: `0x${'a'.repeat(40)}`, to: payTo, value: '5000000', validAfter: '0', validBefore: '1120' },
  nonce: `0x${'e'.repeat(64)}`,
}
const accepted = { amount: '5000000', asset: usdcOnEvm, payTo }
const signature = `0x${'11'.repeat(64)}1b`

const detailsOf = (received: object): unknown => {
  const sent = {
    scheme: 'exact',
    network,
    accepted,
    payload: { authorization, signature },
    ...received,
  } as ReceivedPayment
  try {
    const payment = decodePayment(sent, [option])
    checkTerms(payment, sent)
    throw untimely(payment, 1_000_000)?.refusal
  } catch (error) {
    return ((error as ServiceError).body as { details: unknown }).details
  }
}

const signed = (changes: object) => ({ payload: { authorization: { ...authorization, ...changes }, signature } })
const bounds = { minimumAmount: '5000000', maximumAmount: '10000000000' }

const rows: [rule: string, received: object, details: object][] = [
  ['the schemes', { scheme: 'upto' }, { reason: 'unsupported_scheme', schemes: ['exact'] }],
  ['the networks', { network: 'eip155:1' }, { reason: 'unsupported_network', networks: [network] }],
  ['the token', { accepted: { ...accepted, asset: payTo } }, { reason: 'wrong_asset', asset: usdcOnEvm }],
  ['the payee', { accepted: { ...accepted, payTo: usdcOnEvm } }, { reason: 'wrong_recipient', payTo }],
  ['the least and the most', { accepted: { ...accepted, amount: '1' } }, { reason: 'amount_too_low', ...bounds }],
  [
    'the member of an amount that is accepted',
    { accepted: { ...accepted, amount: '0x1' } },
    { reason: 'amount_not_decimal', member: 'accepted.amount' },
  ],
  [
    'the member of an amount that is signed',
    signed({ value: '0x1' }),
    { reason: 'amount_not_decimal', member: 'payload.authorization.value' },
  ],
  [
    'every invalid member, by its place',
    signed({ from: 'x', to: 'y', validAfter: 'z', nonce: 'n' }),
    {
      reason: 'payload_members',
      members: ['from', 'to', 'validAfter', 'nonce'].map(name => `payload.authorization.${name}`),
    },
  ],
  [
    'a member that is missing, by its place',
    { payload: { signature } },
    { reason: 'payload_members', members: [expect.stringContaining('authorization')] },
  ],
  ['the longest time', signed({ validBefore: '9999' }), { reason: 'validity_too_long', maxTimeoutSeconds: 300 }],
]
test.each(rows)('a refusal tells %s', (_rule, received, details) => {
  expect(detailsOf(received)).toEqual(details)
})

const byPayment = (reason: string) => ({ by: 'payment', reason })
const errors: [error: unknown, refusal: object][] = [
  ['BlockhashNotFound', byPayment('expired')],
  ['AlreadyProcessed', byPayment('nonce_used')],
  ['AccountNotFound', { by: 'us', why: expect.stringContaining('too little SOL') }],
  ['InsufficientFundsForFee', { by: 'us', why: expect.stringContaining('too little SOL') }],
  ['InvalidAccountForFee', { by: 'us', why: expect.stringContaining('too little SOL') }],
  [{ InsufficientFundsForRent: { account_index: 0 } }, { by: 'us', why: expect.stringContaining('too little SOL') }],
  [{ InstructionError: [2, { Custom: 1 }] }, byPayment('insufficient_funds')],
  [{ InstructionError: [2, { Custom: 2 }] }, { by: 'program' }],
  [{ InstructionError: [2, 'Custom'] }, { by: 'program' }],
  ['SomethingElse', { by: 'program' }],
  [null, { by: 'program' }],
]
test.each(errors)('what a chain says of one that was not executed: %j', (error, refusal) => {
  expect(refusalOfError(error)).toEqual(refusal)
})
