import fc from 'fast-check'
import { evmNetwork, solanaNetwork } from '#contract/wire/networks.ts'
import type { SignInFields } from '#contract/wire/sign-in-message.ts'

export const evmFields: SignInFields = {
  domain: 'api.example.com',
  address: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
  uri: 'https://api.example.com/api/v1/chat/completions',
  version: '1',
  chainId: evmNetwork,
  nonce: 'a1b2c3d4e5f60718',
  issuedAt: '2026-11-21T10:00:00.000Z',
}

export const solanaFields: SignInFields = {
  ...evmFields,
  address: 'BSmWDgE9ex6dZYbiTsJGcwMEgFp8q4aWh92hdErQPeVW',
  chainId: solanaNetwork,
}

const characters = (alphabet: string, minimum: number, maximum: number) =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength: minimum, maxLength: maximum })

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const alphanumeric = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

const account = fc.oneof(
  fc.record({
    address: characters('0123456789abcdefABCDEF', 40, 40).map(hex => `0x${hex}`),
    chainId: fc.integer({ min: 1, max: 1e9 }).map(id => `eip155:${id}`),
  }),
  fc.record({ address: characters(base58, 32, 44), chainId: characters(base58, 1, 44).map(id => `solana:${id}`) }),
)

const time = fc
  .date({ min: new Date('1971-01-01'), max: new Date('2200-01-01'), noInvalidDate: true })
  .map(date => date.toISOString())

const statement = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
  .filter(text => !text.includes(':') && /^[^\p{Cc}\p{Cs}\u2028\u2029]+$/u.test(text))

/** Any message that may be signed. */
export const signInFields: fc.Arbitrary<SignInFields> = fc
  .tuple(
    account,
    fc.record(
      {
        domain: fc.oneof(
          fc.domain(),
          fc.tuple(fc.domain(), fc.nat(65535)).map(([host, port]) => `${host}:${port}`),
        ),
        uri: fc.webUrl(),
        version: fc.constant('1' as const),
        nonce: characters(alphanumeric, 8, 64),
        issuedAt: time,
        statement,
        expirationTime: time,
        notBefore: time,
        requestId: characters(`${alphanumeric}-_.~!$&'()*+,;=:@`, 1, 40),
        resources: fc.array(fc.webUrl(), { maxLength: 4 }),
      },
      { requiredKeys: ['domain', 'uri', 'version', 'nonce', 'issuedAt'] },
    ),
  )
  .map(([who, rest]) => ({ ...rest, ...who }))
