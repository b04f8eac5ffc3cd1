import fc from 'fast-check'
import { getAddress } from 'viem'
import { createSiweMessage, parseSiweMessage, validateSiweMessage } from 'viem/siwe'
import { expect, test } from 'vitest'
import { readSignInMessage, type SignInFields, writeSignInMessage } from '#contract/wire/sign-in-message.ts'
import { evmFields, signInFields } from './sign-in-samples.ts'

/** viem is the other library for signing in with EVM wallets, so both must write and read the same text. */

const asViem = (fields: SignInFields) => ({
  domain: fields.domain,
  address: getAddress(fields.address),
  uri: fields.uri,
  version: fields.version,
  chainId: Number(fields.chainId.slice('eip155:'.length)),
  nonce: fields.nonce,
  issuedAt: new Date(fields.issuedAt),
  ...(fields.statement === undefined ? {} : { statement: fields.statement }),
  ...(fields.expirationTime === undefined ? {} : { expirationTime: new Date(fields.expirationTime) }),
  ...(fields.notBefore === undefined ? {} : { notBefore: new Date(fields.notBefore) }),
  ...(fields.requestId === undefined ? {} : { requestId: fields.requestId }),
  ...(fields.resources === undefined ? {} : { resources: fields.resources }),
})

const full: SignInFields = {
  ...evmFields,
  statement: 'Sign in to the API, once.',
  expirationTime: '2026-11-21T10:10:00.000Z',
  notBefore: '2026-11-21T09:59:00.000Z',
  requestId: 'request-7',
  resources: ['https://api.example.com/a', 'https://api.example.com/b'],
}

test.each([
  ['with a statement', { ...evmFields, statement: 'Sign in' }],
  ['with everything', full],
  ['without a statement', evmFields],
])('viem writes the same text: %s', (_, fields) => {
  expect(createSiweMessage(asViem(fields))).toBe(writeSignInMessage(fields))
})

test('viem reads and accepts what we write', () => {
  const message = parseSiweMessage(writeSignInMessage(full))
  expect(message).toMatchObject(asViem(full))
  expect(
    validateSiweMessage({ message, domain: full.domain, nonce: full.nonce, time: new Date('2026-11-21T10:00:00Z') }),
  ).toBe(true)
})

test('what viem writes is read as the same fields', () => {
  const evm = signInFields.filter(fields => fields.chainId.startsWith('eip155:') && URL.canParse(fields.uri))
  fc.assert(
    fc.property(evm, generated => {
      const fields = { ...generated, address: getAddress(generated.address) }
      const { resources, ...rest } = fields
      const sent = resources?.length ? fields : rest
      expect(readSignInMessage(createSiweMessage(asViem(sent)))).toEqual(sent)
    }),
  )
})
