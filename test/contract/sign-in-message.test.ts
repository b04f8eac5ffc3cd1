import { formatSIWEMessage, formatSIWSMessage } from '@x402/extensions/sign-in-with-x'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readSignInMessage, type SignInFields, writeSignInMessage } from '#contract/wire/sign-in-message.ts'
import { evmFields, signInFields, solanaFields } from './sign-in-samples.ts'

const full: Partial<SignInFields> = {
  statement: 'Sign in to the API: once, please.',
  expirationTime: '2026-11-21T10:10:00.000Z',
  notBefore: '2026-11-21T09:59:00.000Z',
  requestId: 'request-7',
  resources: ['https://api.example.com/a', 'ipfs://bafy/b'],
}

test('an EVM message is the text of EIP-4361', () => {
  expect(
    writeSignInMessage({ ...evmFields, ...full }),
  ).toBe(`api.example.com wants you to sign in with your Ethereum account:
0x71C7656EC7ab88b098defB751B7401B5f6d8976F

Sign in to the API: once, please.

URI: https://api.example.com/api/v1/chat/completions
Version: 1
Chain ID: 8453
Nonce: a1b2c3d4e5f60718
Issued At: 2026-11-21T10:00:00.000Z
Expiration Time: 2026-11-21T10:10:00.000Z
Not Before: 2026-11-21T09:59:00.000Z
Request ID: request-7
Resources:
- https://api.example.com/a
- ipfs://bafy/b`)
})

test('without a statement an EVM message keeps its empty line', () => {
  expect(writeSignInMessage(evmFields).split('\n').slice(1, 5)).toEqual([
    evmFields.address,
    '',
    '',
    `URI: ${evmFields.uri}`,
  ])
})

test('a Solana message has the bare chain reference, and is read with the prefixed one too', () => {
  const message = writeSignInMessage(solanaFields)
  expect(message).toContain('\nChain ID: 5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp\n')
  expect(message).toContain('with your Solana account:\n')
  expect(readSignInMessage(message.replace('Chain ID: ', 'Chain ID: solana:'))).toEqual(solanaFields)
})

test('an EVM message with a prefixed chain id is not one', () => {
  expect(readSignInMessage(writeSignInMessage(evmFields).replace('Chain ID: ', 'Chain ID: eip155:'))).toBeNull()
})

test.each([
  ['EVM, bare', evmFields],
  ['EVM, with a statement', { ...evmFields, statement: 'Sign in' }],
  ['EVM, with everything', { ...evmFields, ...full }],
  ['Solana, bare', solanaFields],
  ['Solana, with everything', { ...solanaFields, ...full }],
] as [string, SignInFields][])('the reference implementation writes the same text: %s', (_, fields) => {
  const { address, ...info } = fields
  const theirs = fields.chainId.startsWith('solana:')
    ? formatSIWSMessage({ ...info, type: 'ed25519' }, address)
    : formatSIWEMessage({ ...info, type: 'eip191' }, address)
  expect(writeSignInMessage(fields)).toBe(theirs)
})

test('what is written is read back as the same fields', () => {
  fc.assert(
    fc.property(signInFields, fields => {
      expect(readSignInMessage(writeSignInMessage(fields))).toEqual(fields)
    }),
  )
})

test('a text that is read writes back to the same bytes, however it was changed before', () => {
  const mutation = fc.tuple(fc.nat(), fc.nat(40), fc.oneof(fc.string({ maxLength: 12 }), smuggled))
  fc.assert(
    fc.property(signInFields, mutation, (fields, [at, length, put]) => {
      const text = writeSignInMessage(fields)
      const from = at % text.length
      const changed = text.slice(0, from) + put + text.slice(from + length)
      const read = readSignInMessage(changed)
      if (read) expect(writeSignInMessage(read)).toBe(changed.replace('Chain ID: solana:', 'Chain ID: '))
    }),
    { numRuns: 1000 },
  )
})

const smuggled = fc.constantFrom(
  '\nNonce: 1234567890abcdef',
  '\r\nNonce: 1234567890abcdef',
  '\nURI: https://evil.example',
  '\n\nURI: https://evil.example\nVersion: 1',
  '\nResources:\n- https://evil.example',
  'Nonce: 1234567890abcdef',
  ' ',
  '\n',
  '\u2028',
)

test.each([
  ['a line break in the statement', { statement: 'Hello\nNonce: 1234567890abcdef' }],
  ['a carriage return in the statement', { statement: 'Hello\rthere' }],
  ['a line separator in the statement', { statement: 'Hello\u2028Nonce' }],
  ['another field named in the statement', { statement: 'Hello Nonce: 1234567890abcdef' }],
  ['the statement as a field', { statement: 'URI: https://evil.example' }],
  ['half a character in the statement', { statement: 'Hello \ud800' }],
  ['an empty statement', { statement: '' }],
  ['a line break in a resource', { resources: ['https://a.example\nNonce: 1234567890abcdef'] }],
  ['a space in a resource', { resources: ['https://a.example Nonce: 1234567890abcdef'] }],
  ['a resource that is not a URI', { resources: ['Nonce'] }],
  ['too many resources', { resources: Array.from({ length: 17 }, () => 'https://a.example') }],
  ['a path in the domain', { domain: 'api.example.com/login' }],
  ['a user in the domain', { domain: 'api.example.com@evil.example' }],
  ['a space in the domain', { domain: 'api.example.com wants' }],
  ['a short nonce', { nonce: '1234567' }],
  ['a nonce with a sign', { nonce: '12345678-abcd' }],
  ['a time without a zone', { issuedAt: '2026-11-21T10:00:00' }],
  ['a day that no month has', { issuedAt: '2026-13-41T10:00:00Z' }],
  ['an address of another chain', { address: solanaFields.address }],
  ['a chain id with a leading zero', { chainId: 'eip155:08453' }],
  ['a chain of another kind', { chainId: 'cosmos:hub-4' }],
  ['another version', { version: '2' as '1' }],
] as [string, Partial<SignInFields>][])('neither written nor read: %s', (_, change) => {
  const fields = { ...evmFields, ...change }
  expect(readSignInMessage(textOf(evmFields))).toEqual(evmFields)
  expect(() => writeSignInMessage(fields)).toThrow()
  expect(readSignInMessage(textOf(fields))).toBeNull()
})

/** The form without any rule, as an attacker would write it. */
const textOf = (fields: SignInFields): string =>
  [
    `${fields.domain} wants you to sign in with your Ethereum account:`,
    fields.address,
    '',
    ...(fields.statement === undefined ? [''] : [fields.statement, '']),
    `URI: ${fields.uri}`,
    `Version: ${fields.version}`,
    `Chain ID: ${fields.chainId.replace('eip155:', '')}`,
    `Nonce: ${fields.nonce}`,
    `Issued At: ${fields.issuedAt}`,
    ...(fields.resources ? ['Resources:', ...fields.resources.map(resource => `- ${resource}`)] : []),
  ].join('\n')

test('no text throws, and a long one is refused before it is looked at', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 500 })), text => {
      expect(readSignInMessage(text)).toBeNull()
    }),
  )
  const message = writeSignInMessage(evmFields)
  expect(readSignInMessage(`${message}\n${'Nonce: '.repeat(1_000_000)}`)).toBeNull()
})
