import { generateKeyPairSync, sign } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { type ReceiptClaims, receiptType } from '#contract/operations/receipts.ts'
import { isSignedBy, type KnownCall, readReceipt, receiptProblem } from '#wallet/receipts.ts'

const wallet = '0xAb00000000000000000000000000000000000001'

const claims: ReceiptClaims = {
  iss: 'https://a.example/api/v1',
  sub: wallet.toLowerCase(),
  iat: 1_800_000_000,
  kind: 'charge',
  request: '0198-request',
  operation: 'createChatCompletion',
  model: 'm',
  amount_micro_usd: '35',
  paid_with: { usd: '30', diem: '5' },
  lines: [
    { sku: 'chat.input', units: '5', unit_price_pico_usd: '1000000', amount_micro_usd: '5' },
    { sku: 'chat.output', units: '4', unit_price_pico_usd: '10000000', amount_micro_usd: '40' },
  ],
  written_off_micro_usd: '10',
}

const known: KnownCall = {
  service: 'https://a.example/api/v1',
  kind: 'charge',
  request: '0198-request',
  operation: 'createChatCompletion',
  model: 'm',
  saidMicroUsd: microUsd(35),
  mostMicroUsd: microUsd(35),
}

describe('a receipt that is well signed', () => {
  test('agrees with what is known of the call, and with nothing known', () => {
    expect(receiptProblem(claims, known, [wallet])).toBeNull()
    const nothing = {
      ...known,
      ...{ request: null, operation: null, model: null, saidMicroUsd: null, mostMicroUsd: null },
    }
    expect(receiptProblem(claims, nothing, null)).toBeNull()
    const refund = { ...claims, kind: 'refund' as const, lines: [] }
    expect(receiptProblem(refund, { ...nothing, kind: 'refund' }, ['Base58OfASolanaWallet', wallet])).toBeNull()
  })

  test.each([
    ['with a slash at its end', 'https://a.example/api/v1/', 'https://a.example/api/v1'],
    ['in capitals, with its usual port', 'https://A.example:443/api/v1', 'https://a.example/api/v1'],
    ['by another name of this machine', 'http://127.0.0.1:8402/api/v1', 'http://localhost:8402/api/v1'],
  ])('is of the same service %s', (_rule, iss, service) => {
    expect(receiptProblem({ ...claims, iss }, { ...known, service }, [wallet])).toBeNull()
  })

  test.each<[string, Partial<ReceiptClaims>, Partial<KnownCall>, string]>([
    ['a refund for a charge', { kind: 'refund', amount_micro_usd: '9' }, {}, 'for a refund, not a charge'],
    ['a charge for a refund', {}, { kind: 'refund' }, 'for a charge, not a refund'],
    ['another host', { iss: 'https://b.example/api/v1' }, {}, 'another service'],
    ['another path of the host', { iss: 'https://a.example/b' }, {}, 'another service'],
    ['the host without encryption', { iss: 'http://a.example/api/v1' }, {}, 'another service'],
    [
      'another port of this machine',
      { iss: 'http://127.0.0.1:8403/api/v1' },
      { service: 'http://127.0.0.1:8402/api/v1' },
      'another service',
    ],
    ['no address', { iss: 'a.example' }, {}, 'another service'],
    ['another request', { request: 'other' }, {}, 'another request'],
    ['this wallet as the payer', { sub: 'customer:1' }, {}, 'this wallet as the payer'],
    ['another operation', { operation: 'queueVideo' }, {}, 'another operation'],
    ['different models', { model: 'dearer' }, {}, 'different models'],
    [
      'balances that are not the amount',
      { paid_with: { usd: '35', diem: '5' } },
      {},
      'do not add up to the receipt’s amount',
    ],
    ['lines that are not the amount', { written_off_micro_usd: '0' }, {}, 'do not add up'],
    [
      'more than the answer said',
      {},
      { saidMicroUsd: microUsd(34) },
      '0.000035 USD, but the answer reports 0.000034 USD',
    ],
    ['less than the answer said', {}, { saidMicroUsd: microUsd(36) }, 'the answer reports 0.000036 USD'],
    ['more than was allowed', {}, { mostMicroUsd: microUsd(34) }, 'could cost at most 0.000034 USD'],
  ])('is flagged: %s', (_rule, said, knew, words) => {
    expect(receiptProblem({ ...claims, ...said }, { ...known, ...knew }, [wallet])).toContain(words)
  })
})

const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const x = publicKey.export({ format: 'jwk' }).x ?? ''
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const header = { alg: 'EdDSA', kid: 'k', typ: receiptType }
function signed(head: object = header, body: unknown = claims): string {
  const text = `${part(head)}.${part(body)}`
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`
}

describe('a signature', () => {
  test('is good by its key alone', () => {
    expect(readReceipt(signed())).toEqual({ keyId: 'k', claims })
    expect(isSignedBy(signed(), x)).toBe(true)
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? ''
    for (const key of [other, '', 'x', `${x}A`, 'A'.repeat(43)]) expect(isSignedBy(signed(), key)).toBe(false)
  })

  test('is of every bit of header and claims', () => {
    const [head = '', body = '', signature = ''] = signed().split('.')
    const dearer = part({ ...claims, amount_micro_usd: '36' })
    const another = part({ ...header, kid: 'j' })
    for (const text of [`${head}.${dearer}.${signature}`, `${another}.${body}.${signature}`])
      expect(isSignedBy(text, x)).toBe(false)
  })

  test.each<[string, string]>([
    ['no algorithm', signed({ ...header, alg: 'none' })],
    ['another algorithm', signed({ ...header, alg: 'HS256' })],
    ['a token of another kind', signed({ ...header, typ: 'JWT' })],
    ['no key', signed({ alg: 'EdDSA', typ: receiptType })],
    ['an amount with a fraction', signed(header, { ...claims, amount_micro_usd: '1.5' })],
    ['an amount below zero', signed(header, { ...claims, amount_micro_usd: '-1' })],
    ['an amount with a leading zero', signed(header, { ...claims, amount_micro_usd: '035' })],
    ['a number for an amount', signed(header, { ...claims, amount_micro_usd: 35 })],
    ['no claims', signed(header, null)],
    ['two parts', signed().split('.').slice(0, 2).join('.')],
    ['four parts', `${signed()}.x`],
    ['a line after it', `${signed()}\n`],
    ['too long a text', `${'a'.repeat(9_000)}.${signed()}`],
  ])('is of no receipt: %s', (_rule, text) => {
    expect(readReceipt(text)).toBeNull()
  })

  test('never throws, whatever stands there', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.tuple(fc.base64String(), fc.base64String(), fc.base64String()).map(parts => parts.join('.')),
        ),
        fc.string(),
        (text, key) => {
          expect(readReceipt(text)).toBeNull()
          expect(isSignedBy(text, key)).toBe(false)
        },
      ),
    )
  })
})
