import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ServiceError } from '#contract/errors/service-error.ts'
import { paymentHeaderNames } from '#contract/wire/headers.ts'
import { evmNetwork, usdcOnEvm } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import {
  isPaymentReason,
  paymentIdOf,
  readPayment,
  type SignedPayment,
  storePayment,
} from '#payments/payment/payment.ts'
import { checkTerms, decodePayment, readStoredPayment, untimely } from '#payments/rails/rails.ts'

const payTo = `0x${'Ab'.repeat(20)}`
const extra = { name: 'USD Coin (local)', version: '2' }
const common = { scheme: 'exact', amount: '5000000', maxTimeoutSeconds: 300, extra } as const
const option: PaymentOption = { ...common, network: evmNetwork, asset: usdcOnEvm, payTo }

const headerOf =
  (values: Partial<Record<string, string[]>>) =>
  (name: string): string[] =>
    values[name] ?? []

function decode(values: Partial<Record<string, string[]>>): SignedPayment | null {
  const received = readPayment(headerOf(values))
  if (!received) return null
  const payment = decodePayment(received, [option])
  checkTerms(payment, received)
  untimely(payment, Date.now())
  return payment
}

/** Anything but our own 400 with a reason of the list is a fault. */
function refusesOrTakes(values: Partial<Record<string, string[]>>): void {
  try {
    decode(values)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { details } = error.body as { details: { reason: string } }
    expect([error.status, isPaymentReason(details.reason)]).toEqual([400, true])
  }
}

const toHeader = (value: unknown): string => Buffer.from(JSON.stringify(value) ?? '').toString('base64')

const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(array => `0x${Buffer.from(array).toString('hex')}`)

const authorization = fc.record({
  from: hex(20),
  to: fc.constant(payTo),
  value: fc.bigInt({ min: 5_000_000n, max: 10_000_000_000n }).map(String),
  validAfter: fc.constant('0'),
  validBefore: fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String),
  nonce: hex(32),
})

/** A low `s` and a recovery bit of the four that exist. */
const signature = fc
  .tuple(hex(32), fc.bigInt({ min: 1n, max: 2n ** 254n }), fc.constantFrom('00', '01', '1b', '1c'))
  .map(([r, s, recovery]) => `${r}${s.toString(16).padStart(64, '0')}${recovery}`)

const payload = fc.record({ signature, authorization })

const paymentOf = (signed: { authorization: { value: string } }) => ({
  x402Version: 2,
  accepted: { ...option, amount: signed.authorization.value },
  payload: signed,
})

test('garbage of any kind is our own 400, never anything else', () => {
  const garbage = fc.oneof(
    fc.string(),
    fc.base64String(),
    fc.json().map(text => Buffer.from(text).toString('base64')),
    fc.record({ x402Version: fc.constantFrom(1, 2, '2'), accepted: fc.anything(), payload: fc.anything() }).map(toJson),
    payload.chain(signed =>
      fc.anything().map(value => toJson({ ...paymentOf(signed), payload: { ...signed, authorization: value } })),
    ),
    payload.chain(signed =>
      fc.anything().map(value => toJson({ ...paymentOf(signed), payload: { ...signed, signature: value } })),
    ),
  )
  const values = fc.array(garbage, { maxLength: 3 })
  fc.assert(fc.property(fc.dictionary(fc.constantFrom(...paymentHeaderNames), values), refusesOrTakes), {
    numRuns: 1_000,
  })
})

const toJson = (value: unknown): string => {
  try {
    return toHeader(value)
  } catch {
    return toHeader(null)
  }
}

test('only what was signed makes the key: in any spelling, and again after storing', () => {
  const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`
  fc.assert(
    fc.property(payload, signed => {
      const { from, nonce, value, validBefore } = signed.authorization
      const first = decode({ 'payment-signature': [toHeader(paymentOf(signed))] })
      const spelled = {
        signature: upper(signed.signature),
        authorization: {
          ...signed.authorization,
          from: upper(from),
          nonce: upper(nonce),
          value: `0${value}`,
          validBefore: `00${validBefore}`,
        },
      }
      const flat = { x402Version: 2, scheme: 'exact', network: 'base', payload: spelled, more: true }
      expect(decode({ 'x-payment': [toHeader(flat)] })).toEqual(first)
      expect(readStoredPayment(storePayment(first as SignedPayment))).toEqual(first)
      expect(first?.key).toBe(`evm:8453:${usdcOnEvm}:${from}:${nonce}`.toLowerCase())
    }),
  )
})

test('another nonce or payer makes another key and another id', () => {
  fc.assert(
    fc.property(payload, payload, (one, other) => {
      const keys = [one, other].map(signed => decode({ 'payment-signature': [toHeader(paymentOf(signed))] })?.key ?? '')
      const same =
        one.authorization.from === other.authorization.from && one.authorization.nonce === other.authorization.nonce
      expect(keys[0] === keys[1]).toBe(same)
      expect(paymentIdOf(keys[0] ?? '') === paymentIdOf(keys[1] ?? '')).toBe(same)
    }),
  )
})

test('without a header there is no payment; the same payment under two names is one, and a different one is a conflict', () => {
  const [one, other] = fc.sample(payload, 2).map(signed => toHeader(paymentOf(signed))) as [string, string]
  expect(readPayment(() => [])).toBeNull()
  expect(decode({ 'payment-signature': [one, one], 'x-payment': [` ${one} `] })).toEqual(decode({ 'x-payment': [one] }))
  expect(() => decode({ 'payment-signature': [one], 'x-payment': [other] })).toThrow(ServiceError)
  expect(() => decode({ 'payment-signature': [''] })).toThrow(ServiceError)
})
