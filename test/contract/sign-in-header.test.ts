import { Buffer } from 'node:buffer'
import {
  createSIWxPayload,
  encodeSIWxHeader,
  parseSIWxHeader,
  verifySIWxSignature,
} from '@x402/extensions/sign-in-with-x'
import fc from 'fast-check'
import { privateKeyToAccount } from 'viem/accounts'
import { expect, test } from 'vitest'
import { readSignInHeader, signInCodes, writeSignInHeader } from '#contract/wire/sign-in.ts'
import { type SignInFields, writeSignInMessage } from '#contract/wire/sign-in-message.ts'
import { evmFields, signInFields, solanaFields } from './sign-in-samples.ts'

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

const signature = `0x${'ab'.repeat(65)}`
const account = privateKeyToAccount(`0x${'17'.repeat(32)}`)

test('either shape is read back as what was signed', () => {
  fc.assert(
    fc.property(signInFields, fc.constantFrom('message', 'structured'), (fields, shape) => {
      // The structured shape cannot tell an empty list from none.
      const signed = fields.resources?.length === 0 ? without(fields, 'resources') : fields
      const read = readSignInHeader(writeSignInHeader({ fields: signed, signature }, shape))
      expect(read).toMatchObject({
        ok: true,
        claim: { fields: signed, message: writeSignInMessage(signed), signature },
      })
    }),
  )
})

const without = (fields: SignInFields, name: keyof SignInFields): SignInFields => {
  const { [name]: _, ...rest } = fields
  return rest as SignInFields
}

test('a header of the reference client is read', async () => {
  const { address: _, ...info } = { ...evmFields, statement: 'Sign in', resources: ['https://api.example.com/a'] }
  const payload = await createSIWxPayload({ ...info, type: 'eip191' }, account, info.uri)
  const read = readSignInHeader(encodeSIWxHeader(payload))
  expect(read).toMatchObject({
    ok: true,
    claim: { address: account.address, fields: { statement: 'Sign in' } },
  })
  if (read.ok) expect(await account.signMessage({ message: read.claim.message })).toBe(read.claim.signature)
})

test('our structured header is read and verified by the reference implementation', async () => {
  const fields = {
    ...evmFields,
    address: account.address,
    statement: 'Sign in',
    expirationTime: '2026-11-21T10:10:00Z',
  }
  const signed = await account.signMessage({ message: writeSignInMessage(fields) })
  const payload = parseSIWxHeader(writeSignInHeader({ fields, signature: signed }, 'structured'))
  expect(await verifySIWxSignature(payload)).toEqual({ isValid: true, payer: account.address })
  const another = parseSIWxHeader(
    writeSignInHeader({ fields: { ...fields, nonce: '00000000000000' }, signature: signed }, 'structured'),
  )
  expect(await verifySIWxSignature(another)).toMatchObject({ isValid: false })
})

const message = writeSignInMessage(evmFields)
const solanaMessage = writeSignInMessage(solanaFields)
const base = { address: evmFields.address, message, signature }
const solanaBase = { address: solanaFields.address, message: solanaMessage, signature: 'A'.repeat(88) }
const structured = { ...evmFields, type: 'eip191', signature }

test.each([
  ['the least of it', base],
  ['the address in another case', { ...base, address: evmFields.address.toLowerCase() }],
  ['a timestamp', { ...base, timestamp: 1_795_255_200_000 }],
  ['a chain id as a number', { ...base, chainId: 8453 }],
  ['a chain id as digits', { ...base, chainId: '8453' }],
  ['a chain id as CAIP-2', { ...base, chainId: 'eip155:8453' }],
  ['a type', { ...base, type: 'eip191' }],
  ['unknown members', { ...base, wallet: 'x' }],
  ['a repeated field', { ...base, nonce: evmFields.nonce, domain: evmFields.domain }],
  ['Solana with its type', { ...solanaBase, type: 'ed25519', chainId: solanaFields.chainId }],
  ['Solana without a type', solanaBase],
  ['structured', structured],
  ['structured, with its scheme', { ...structured, signatureScheme: 'eip191' }],
  ['structured, with empty texts and lists', { ...structured, statement: '', resources: [] }],
])('taken: %s', (_, payload) => {
  expect(readSignInHeader(encoded(payload))).toMatchObject({ ok: true })
})

test.each([
  ['INVALID_PAYLOAD', 'not base64', '%%%'],
  ['INVALID_PAYLOAD', 'nothing', ''],
  ['INVALID_PAYLOAD', 'not JSON', Buffer.from('{').toString('base64')],
  ['INVALID_PAYLOAD', 'a list', encoded([base])],
  ['INVALID_PAYLOAD', 'null', encoded(null)],
  ['INVALID_PAYLOAD', 'a name twice', Buffer.from('{"address":"a","address":"b"}').toString('base64')],
  ['INVALID_PAYLOAD', 'longer than a header', encoded({ ...base, filler: 'x'.repeat(8192) })],
  ['PARSE_ERROR', 'no signature', encoded({ ...base, signature: undefined })],
  ['PARSE_ERROR', 'a signature that is endless', encoded({ ...base, signature: 'a'.repeat(301) })],
  ['PARSE_ERROR', 'a type that nobody knows', encoded({ ...base, type: 'rsa' })],
  ['PARSE_ERROR', 'a timestamp as text', encoded({ ...base, timestamp: '1795255200000' })],
  ['INVALID_MESSAGE', 'a message of another form', encoded({ ...base, message: 'Sign in' })],
  ['INVALID_MESSAGE', 'a line more', encoded({ ...base, message: `${message}\nNonce: 1234567890abcdef` })],
  ['INVALID_MESSAGE', 'another nonce beside it', encoded({ ...base, nonce: '1234567890abcdef' })],
  ['INVALID_MESSAGE', 'a statement that was not signed', encoded({ ...base, statement: 'Hello' })],
  ['INVALID_MESSAGE', 'resources that were not signed', encoded({ ...base, resources: ['https://a.example'] })],
  ['INVALID_MESSAGE', 'another expiry', encoded({ ...base, expirationTime: '2036-11-21T10:00:00.000Z' })],
  ['DOMAIN_MISMATCH', 'another domain beside it', encoded({ ...base, domain: 'evil.example' })],
  ['ADDRESS_MISMATCH', 'another address', encoded({ ...base, address: `0x${'1'.repeat(40)}` })],
  [
    'ADDRESS_MISMATCH',
    'a Solana address in another case',
    encoded({ ...solanaBase, address: solanaFields.address.toLowerCase() }),
  ],
  ['INVALID_CHAIN_ID', 'a chain that is no chain', encoded({ ...base, chainId: 'base' })],
  ['CHAIN_MISMATCH', 'another chain', encoded({ ...base, chainId: 1 })],
  ['CHAIN_MISMATCH', 'an EVM message said to be Solana', encoded({ ...base, chainId: solanaFields.chainId })],
  ['CHAIN_MISMATCH', 'an Ed25519 signature on an EVM message', encoded({ ...base, type: 'ed25519' })],
  ['CHAIN_MISMATCH', 'an EVM signature on a Solana message', encoded({ ...solanaBase, type: 'eip191' })],
  ['MISSING_NONCE', 'structured without a nonce', encoded({ ...structured, nonce: undefined })],
  [
    'INVALID_MESSAGE',
    'structured, a line break in the statement',
    encoded({ ...structured, statement: 'a\nNonce: 1' }),
  ],
  ['INVALID_MESSAGE', 'structured, version 2', encoded({ ...structured, version: '2' })],
  ['INVALID_CHAIN_ID', 'structured, a chain of no known form', encoded({ ...structured, chainId: 'eip155:x' })],
  [
    'INVALID_MESSAGE',
    'structured, an EVM address on Solana',
    encoded({ ...structured, chainId: solanaFields.chainId }),
  ],
  ['PARSE_ERROR', 'structured without a domain', encoded({ ...structured, domain: undefined })],
])('%s: %s', (code, _, header) => {
  expect(readSignInHeader(header)).toEqual({ ok: false, code: `X402_SIGN_IN_${code}` })
})

test('no header throws, and every refusal has a code of the list', () => {
  const garbage = fc.oneof(
    fc.string(),
    fc.json().map(json => Buffer.from(json).toString('base64')),
    fc
      .tuple(
        fc.constantFrom<object>(base, structured),
        fc.dictionary(fc.constantFrom(...Object.keys({ ...base, ...structured })), fc.jsonValue()),
      )
      .map(([good, change]) => encoded({ ...good, ...change })),
  )
  fc.assert(
    fc.property(garbage, header => {
      const read = readSignInHeader(header)
      if (!read.ok) expect(signInCodes).toContain(read.code)
      else expect(writeSignInMessage(read.claim.fields)).toBe(read.claim.message)
    }),
    { numRuns: 1000 },
  )
})

test('the codes', () => {
  expect(signInCodes.map(code => code.replace('X402_SIGN_IN_', ''))).toEqual([
    'INVALID_PAYLOAD',
    'PARSE_ERROR',
    'INVALID_MESSAGE',
    'ADDRESS_MISMATCH',
    'INVALID_CHAIN_ID',
    'CHAIN_MISMATCH',
    'UNSUPPORTED_CHAIN',
    'MISSING_NONCE',
    'DOMAIN_MISMATCH',
    'TIMESTAMP_MISMATCH',
    'EXPIRED',
    'FUTURE_TIMESTAMP',
    'NOT_BEFORE',
    'INVALID_SIGNATURE',
    'INVALID_WALLET',
    'NONCE_REUSED',
  ])
})
