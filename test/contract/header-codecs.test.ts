import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { headerBytes } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'
import { decodeBase64Json, type HeaderCodec } from '#contract/wire/header-codec.ts'
import * as headers from '#contract/wire/headers.ts'

type Sample = [HeaderCodec<unknown>, fc.Arbitrary<unknown>]

const row = <Value>(codec: HeaderCodec<Value>, values: fc.Arbitrary<Value>): Sample => [
  codec as HeaderCodec<unknown>,
  values,
]

const text = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 200 })
const whole = fc.nat(999_999_999)
const truth = fc.boolean()
const usd = fc.bigInt({ min: -999_999_999_999_999n, max: 999_999_999_999_999n }).map(microUsd)
const moment = fc
  .date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
  .map(date => date.getTime())
const option = fc.record(
  {
    scheme: fc.constant('exact' as const),
    network: text,
    amount: fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }).map(String),
    asset: text,
    payTo: text,
    maxTimeoutSeconds: fc.integer({ min: 1, max: 86_400 }),
    extra: fc.record({ name: text, feePayer: text }),
  },
  { requiredKeys: ['scheme', 'network', 'amount', 'asset', 'payTo', 'maxTimeoutSeconds'] },
)

/** A valid value of every header: what is written is read back. */
const samples: Sample[] = [
  ...[
    headers.authorization,
    headers.signInWithX,
    headers.legacySignInWithX,
    headers.contentType,
    headers.contentDisposition,
    headers.nextCursor,
    headers.requestId,
    headers.ownRequestId,
    headers.version,
    headers.hostName,
    headers.modelId,
    headers.modelName,
    headers.modelRouter,
    headers.deprecationWarning,
    headers.deprecatedReplacement,
    headers.middlefaceVersion,
    headers.mobileVersion,
    headers.controlInstance,
  ].map(codec => row(codec, text)),
  ...[
    headers.limitRequests,
    headers.remainingRequests,
    headers.resetRequests,
    headers.limitTokens,
    headers.remainingTokens,
    headers.resetTokens,
    headers.retryAfter,
    headers.rpcLimit,
    headers.rpcRemaining,
    headers.rpcReset,
    headers.rpcUsedCredits,
    headers.paginationLimit,
    headers.paginationPage,
    headers.paginationTotal,
    headers.paginationTotalPages,
    headers.requestTimestamp,
    headers.retryCount,
  ].map(codec => row(codec, whole)),
  ...[
    headers.deprecated,
    headers.isBlurred,
    headers.isContentViolation,
    headers.isAdultModelContentViolation,
    headers.containsMinor,
    headers.authRefreshed,
    headers.shouldRetry,
    headers.idempotentReplayed,
    headers.wantReceipt,
    headers.paidOncePerKey,
  ].map(codec => row(codec, truth)),
  ...[headers.balanceRemaining, headers.balanceUsd, headers.balanceDiem].map(codec => row(codec, usd)),
  row(
    headers.rpcCost,
    fc.bigInt({ min: 0n, max: 10n ** 16n }).map(shown => shown * 10_000n),
  ),
  row(headers.rpcRequestId, fc.stringMatching(/^[0-9A-Za-z]{32}$/)),
  row(headers.timestamp, moment),
  row(
    headers.date,
    moment.map(milliseconds => milliseconds - (milliseconds % 1000)),
  ),
  row(
    headers.deprecationDate,
    moment.map(milliseconds => new Date(milliseconds).toISOString().slice(0, 10)),
  ),
  row(headers.idempotencyKey, fc.stringMatching(/^[A-Za-z0-9_-]{1,255}$/)),
  row(headers.receipt, fc.stringMatching(/^[A-Za-z0-9_-]{1,99}[.][A-Za-z0-9_-]{1,99}[.][A-Za-z0-9_-]{1,99}$/)),
  row(headers.limitType, fc.constantFrom(...headers.limitTypes)),
  row(headers.contentEncoding, fc.constantFrom('gzip', 'br')),
  row(
    headers.paymentRequired,
    fc.record(
      { x402Version: fc.constant(2 as const), error: text, accepts: fc.array(option, { maxLength: 3 }) },
      { requiredKeys: ['x402Version', 'accepts'] },
    ),
  ),
  row(
    headers.paymentSignature,
    fc.record({
      x402Version: fc.constant(2 as const),
      accepted: option,
      payload: fc.record({ signature: text, authorization: fc.record({ from: text, value: text }) }),
    }),
  ),
  row(headers.paymentResponse, fc.record({ success: truth, network: text, payer: text, transaction: text })),
]

test('every header of the list has a sample here', () => {
  const codecs = Object.values(headers).filter(value => typeof value === 'object' && 'parse' in value)
  expect(samples.map(([codec]) => codec.name).sort()).toEqual(codecs.map(({ name }) => name).sort())
})

test.each(samples.map(([codec, values]) => ({ name: codec.name, codec, values })))(
  '$name: what is written is read back, as one printable line',
  ({ codec, values }) => {
    fc.assert(
      fc.property(values, value => {
        const written = codec.format(value)
        expect(written).toMatch(/^[\t\x20-\x7e]+$/)
        expect(codec.parse(written)).toEqual(value)
      }),
    )
  },
)

const garbage = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    ' ',
    '-',
    '+1',
    '1e3',
    '0x10',
    '١',
    '9'.repeat(400),
    'TRUE',
    'NaN',
    'Infinity',
    '2026-02-31',
    '{}',
  ),
  fc.json().map(json => Buffer.from(json).toString('base64')),
)

test.each(samples.map(([codec]) => ({ name: codec.name, codec })))(
  '$name: nothing throws, and what is taken is written as it was meant',
  ({ codec }) => {
    fc.assert(
      fc.property(garbage, input => {
        const value = codec.parse(input)
        if (value !== null) expect(codec.parse(codec.format(value))).toEqual(value)
      }),
      { numRuns: 200 },
    )
  },
)

test.each([
  [headers.limitRequests, '-1'],
  [headers.limitRequests, '1.5'],
  [headers.limitRequests, ''],
  [headers.resetRequests, '1e9'],
  [headers.isBlurred, 'True'],
  [headers.isBlurred, '1'],
  [headers.balanceUsd, '1e3'],
  [headers.balanceUsd, '.5'],
  [headers.balanceUsd, '1.0000001'],
  [headers.balanceUsd, '1000000000.000001'],
  [headers.balanceRemaining, '-999999999999.000000'],
  [headers.timestamp, '2026-11-21'],
  [headers.timestamp, '2026-13-21T10:00:00Z'],
  [headers.date, '2026-11-21T10:00:00Z'],
  [headers.deprecationDate, 'soon'],
  [headers.limitType, 'account'],
  [headers.contentEncoding, 'deflate'],
  [headers.authorization, 'Bearer a\r\nb'],
  [headers.authorization, 'Bearer “a”'],
  [headers.authorization, 'x'.repeat(headerBytes + 1)],
] as [HeaderCodec<unknown>, string][])('refused: %o', (codec, input) => {
  expect(codec.parse(input)).toBeNull()
})

test('a character that no header can hold is replaced', () => {
  expect(headers.modelName.format('模型 “1” é')).toBe('? ?1? é')
})

test('a line break in a value cannot start another header', () => {
  expect(headers.deprecationWarning.format('gone\r\nset-cookie: a=b\u0000')).toBe('gone  set-cookie: a=b ')
})

const encoded = (json: string): string => Buffer.from(json).toString('base64')

test.each([
  ['standard, padded', encoded('{"a":"?>~"}')],
  ['standard, not padded', encoded('{"a":"?>~"}').replace(/=+$/, '')],
  ['URL-safe', Buffer.from('{"a":"?>~"}').toString('base64url')],
])('base64 is read: %s', (_, header) => {
  expect(decodeBase64Json(header)).toEqual({ ok: true, value: { a: '?>~' } })
})

test.each([
  ['nothing', '', /empty/],
  ['white space', `${encoded('{}')} `, /base64/],
  ['another alphabet', 'e30*', /base64/],
  ['wrong padding', 'eyJhIjoxfQ=', /base64/],
  ['padding where none belongs', `${encoded('{"a":11}')}==`, /base64/],
  ['a letter too many', 'e30AA', /base64/],
  ['bits that no encoder writes', 'e31=', /base64/],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('base64'), /UTF-8/],
  ['not JSON', encoded('{'), /JSON/],
  ['a name twice', encoded('{"a":1,"a":2}'), /twice/],
  ['33 levels', encoded('['.repeat(33) + ']'.repeat(33)), /32 levels/],
  ['longer than a header', 'A'.repeat(headerBytes + 4), /longer/],
])('base64 is refused: %s', (_, header, reason) => {
  expect(decodeBase64Json(header)).toEqual({ ok: false, reason: expect.stringMatching(reason) })
})
