/** The answer to a refused header: the reason, and the facts that the sender can compare with. */
import { expect, test } from 'vitest'
import type { ServiceError } from '#contract/errors/service-error.ts'
import { headerBytes } from '#contract/limits.ts'
import { usdcOnEvm } from '#contract/wire/networks.ts'
import { readPayment } from '#payments/payment/payment.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const header = (value: unknown) => base64(JSON.stringify(value))

const address = `0x${'a'.repeat(40)}`
const payload = { signature: '0x', authorization: {} }
const accepted = {
  ...{ scheme: 'exact', network: 'eip155:8453', amount: '5000000', asset: usdcOnEvm, payTo: address },
  maxTimeoutSeconds: 300,
}

const refusals: [rule: string, values: string[], details: object][] = [
  [
    'another payment under another name',
    [header({ x402Version: 2 }), header({ x402Version: 1 })],
    { reason: 'conflicting_headers', headers: ['payment-signature', 'x-402-payment', 'x-payment'] },
  ],
  ['an empty one', [''], { reason: 'not_base64', problem: 'the header is empty' }],
  ['no base64', ['%'], { reason: 'not_base64', problem: 'the header is not base64' }],
  [
    'one that is too long',
    ['A'.repeat(headerBytes + 1)],
    { reason: 'too_long', problem: `the header is longer than ${headerBytes} bytes` },
  ],
  ['a list', [header([])], { reason: 'not_json', problem: 'the JSON is not an object' }],
  ['a null', [header(null)], { reason: 'not_json', problem: 'the JSON is not an object' }],
  ['another version', [header({ x402Version: 1, payload })], { reason: 'wrong_version', x402Version: 2 }],
  [
    'a wrong member deep inside',
    [header({ x402Version: 2, accepted: { ...accepted, amount: 5 }, payload })],
    { reason: 'payload_members', members: ['accepted.amount'] },
  ],
  [
    'two wrong members',
    [header({ x402Version: 2, accepted: { ...accepted, payTo: 1, amount: 5 }, payload })],
    { reason: 'payload_members', members: ['accepted.amount', 'accepted.payTo'] },
  ],
  [
    'the older form without its members',
    [header({ x402Version: 2, payload })],
    { reason: 'payload_members', members: ['scheme', 'network'] },
  ],
]
test.each(refusals)('%s', (_rule, values, details) => {
  expect(detailsOf(values)).toEqual(details)
})

/** Of the 400 that the values of one request are refused with. */
function detailsOf(values: readonly string[]): unknown {
  try {
    readPayment(name => (name === 'payment-signature' ? [...values] : []))
  } catch (error) {
    return ((error as ServiceError).body as { details: unknown }).details
  }
  return 'taken'
}
