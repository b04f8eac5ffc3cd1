import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { decodeBase58, encodeBase58 } from '#contract/wire/base58.ts'
import { ed25519Key } from '#host/signatures/signatures.ts'

/** The PKCS #8 prefix of an Ed25519 key, before its 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

const seedBytes = 32
const keypairBytes = 64

/** One of our accounts. Its signature of a message is always the same, so it is known before and after sending. */
export class SolanaKey {
  readonly address: string
  readonly #key: KeyObject

  /** `text` is base58 of 64 bytes, as wallets export a key: the secret half first. Never prints it. */
  constructor(text: string) {
    const bytes = decodeBase58(text, keypairBytes)
    if (!bytes) throw new Error('A Solana key must be 64 bytes in base58, as wallet apps export it.')
    const der = Buffer.concat([pkcs8Prefix, bytes.subarray(0, seedBytes)])
    this.#key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const publicBytes = Buffer.from(createPublicKey(this.#key).export({ format: 'jwk' }).x ?? '', 'base64url')
    if (!publicBytes.equals(bytes.subarray(seedBytes))) {
      throw new Error('The two halves of the Solana key do not match; copy the whole key.')
    }
    this.address = encodeBase58(publicBytes)
  }

  sign(message: Uint8Array): Uint8Array {
    return sign(null, message, this.#key)
  }
}

/** Whether the owner of an address signed these bytes; false for an address that is not a key, or a weak one. */
export function isSignedBy(address: string, message: Uint8Array, signature: Uint8Array): boolean {
  const bytes = ed25519Key(address)
  if (!bytes) return false
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(bytes).toString('base64url') }
    return verify(null, message, createPublicKey({ key: jwk, format: 'jwk' }), signature)
  } catch {
    // The bytes are not a point on the curve.
    return false
  }
}

export const computeBudgetProgram = 'ComputeBudget111111111111111111111111111111'
/** USDC is a mint of this program, not of Token-2022. */
export const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
export const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'
/**
 * Wallets add assertions of this program to what they sign. The program can still be replaced, and it is unknown what
 * it would then do with our account.
 */
export const lighthouseProgram = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95'
const associatedTokenProgram = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'

const addressBytes = 32

/** Null if the text is not an address. */
export const addressOf = (text: string): Uint8Array | null => decodeBase58(text, addressBytes)

/**
 * Returns the address of a wallet's token account for a mint, derived from both. Throws if either is not an address.
 */
export function tokenAccountOf(owner: string, mint: string): string {
  const seeds = [owner, tokenProgram, mint].map(requireAddress)
  const program = requireAddress(associatedTokenProgram)
  for (let bump = 255; bump >= 0; bump--) {
    const hash = createHash('sha256')
    for (const part of [...seeds, Buffer.of(bump), program, derivedMark]) hash.update(part)
    const address = hash.digest()
    // The first derived address off the curve, so that no key for it can exist.
    if (!isOnCurve(address)) return encodeBase58(address)
  }
  throw new Error(`${owner} has no token account for ${mint}.`)
}

const derivedMark = Buffer.from('ProgramDerivedAddress')

/** Throws if the text is not an address. */
export function requireAddress(text: string): Uint8Array {
  const address = addressOf(text)
  if (!address) throw new Error(`${JSON.stringify(text)} is not a Solana address.`)
  return address
}

const field = 2n ** 255n - 19n
/** −121665/121666, of the curve −x² + y² = 1 + d·x²·y². */
const d = 0x52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3n

/** Whether some x belongs to this y: x² = (y² − 1)/(d·y² + 1) has a root if numerator times denominator has one. */
function isOnCurve(address: Uint8Array): boolean {
  const y = BigInt(`0x${Buffer.from(address).reverse().toString('hex')}`) & (2n ** 255n - 1n)
  const y2 = (y * y) % field
  const product = (((y2 + field - 1n) % field) * ((d * y2 + 1n) % field)) % field
  return product === 0n || power(product, (field - 1n) / 2n) === 1n
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let [square, left] = [base, exponent]; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % field
    square = (square * square) % field
  }
  return result
}
