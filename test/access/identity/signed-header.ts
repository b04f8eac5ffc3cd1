import { generateKeyPairSync, sign } from 'node:crypto'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { encodeBase58 } from './base58-encoder.ts'

/** What a wallet signs; absent lines are left out. */
export interface MessageFields {
  domain: string
  statement?: string | undefined
  uri: string
  chain: string
  nonce: string
  issuedAt: string
  expirationTime?: string | undefined
  notBefore?: string | undefined
}

export interface TestWallet {
  address: string
  /** Value of the header, in the shape of the published contract. */
  header(fields: MessageFields, changes?: Record<string, unknown>): Promise<string>
}

/** EIP-4361, and its Solana sister: the same text with another network's name. */
const messageOf = (network: 'Ethereum' | 'Solana', address: string, fields: MessageFields): string =>
  [
    `${fields.domain} wants you to sign in with your ${network} account:`,
    address,
    '',
    // Without a statement EIP-4361 keeps its empty place, the Solana form does not.
    ...(fields.statement === undefined ? (network === 'Solana' ? [] : ['']) : [fields.statement, '']),
    `URI: ${fields.uri}`,
    'Version: 1',
    `Chain ID: ${fields.chain}`,
    `Nonce: ${fields.nonce}`,
    `Issued At: ${fields.issuedAt}`,
    ...(fields.expirationTime === undefined ? [] : [`Expiration Time: ${fields.expirationTime}`]),
    ...(fields.notBefore === undefined ? [] : [`Not Before: ${fields.notBefore}`]),
  ].join('\n')

export const encodeHeader = (payload: unknown): string => Buffer.from(JSON.stringify(payload)).toString('base64')

export function evmWallet(): TestWallet & { sign(text: string): Promise<string> } {
  const account = privateKeyToAccount(generatePrivateKey())
  const { address } = account
  return {
    address,
    sign: message => account.signMessage({ message }),
    async header(fields, changes) {
      const message = messageOf('Ethereum', address, fields)
      const signature = await account.signMessage({ message })
      return encodeHeader({ address, message, signature, ...changes })
    },
  }
}

export function solanaWallet(): TestWallet {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const address = encodeBase58(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32))
  return {
    address,
    async header(fields, changes) {
      const message = messageOf('Solana', address, fields)
      const signature = encodeBase58(sign(null, Buffer.from(message), privateKey))
      return encodeHeader({ address, message, signature, type: 'ed25519', ...changes })
    },
  }
}
