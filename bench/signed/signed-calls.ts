import { createHash, randomBytes } from 'node:crypto'
import { evmNetwork } from '#contract/wire/networks.ts'
import { writeSignInHeader } from '#contract/wire/sign-in.ts'
import { writeSignInMessage } from '#contract/wire/sign-in-message.ts'
import { loadKeccak256 } from '#host/keccak.ts'
import { publicUrl } from './bounds.ts'

interface Curve {
  publicKeyCreate(key: Uint8Array, compressed: boolean): Uint8Array
  ecdsaSign(digest: Uint8Array, key: Uint8Array): { signature: Uint8Array; recid: number }
}

const keccak256 = await loadKeccak256()

/** Signing by JavaScript would take longer than all that is measured. */
const bindings: string = 'secp256k1/bindings.js'
const { default: curve } = (await import(bindings)) as { default: Curve }

export interface Wallet {
  key: Uint8Array
  /** In lower case. */
  address: string
}

/** The same wallet for the same place, in every process of a run. */
export function walletAt(place: number): Wallet {
  const key = createHash('sha256').update(`wallet ${place} of a bench`).digest()
  const point = curve.publicKeyCreate(key, false)
  return { key, address: `0x${Buffer.from(keccak256(point.subarray(1)).subarray(12)).toString('hex')}` }
}

/** The header of a sign-in that was never used. */
export function signInHeader({ key, address }: Wallet): string {
  const issuedAtMs = Date.now()
  const fields = {
    ...({ domain: new URL(publicUrl).host, address, uri: publicUrl, version: '1', chainId: evmNetwork } as const),
    statement: 'Sign in to Service API',
    nonce: randomBytes(8).toString('hex'),
    issuedAt: new Date(issuedAtMs).toISOString(),
    expirationTime: new Date(issuedAtMs + 300_000).toISOString(),
  }
  const text = Buffer.from(writeSignInMessage(fields))
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${text.length}`)
  const { signature, recid } = curve.ecdsaSign(keccak256(Buffer.concat([prefix, text])), key)
  const hex = `0x${Buffer.from(signature).toString('hex')}${recid ? '1c' : '1b'}`
  return writeSignInHeader({ fields, signature: hex }, 'message')
}
