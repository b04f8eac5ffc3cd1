/**
 * The secrets that tests use: one of each kind, so that a whole run can be searched for them. They are made of hashes, so
 * that no source holds one, and whatever does has got it from the product.
 */
import { createHash } from 'node:crypto'

const seedOf = (kind: string): Buffer => createHash('sha256').update(`a canary of tests: ${kind}`).digest()

const evmSeed = seedOf('EVM key')

/** Keys for tests only: 64 hexadecimal digits, and the secret half of a Solana key. */
export const canaryEvmKey = evmSeed.toString('hex')
export const canarySolanaSeed: Uint8Array = seedOf('Solana key')

export const canaryPassphrase = `canary ${seedOf('passphrase').toString('hex').slice(0, 32)}`

/** As an agent has it; a service makes its keys itself, by chance. */
export const canaryApiKey = `fb_${seedOf('API key').toString('base64url')}`

/** Of services, as `FAREBOX_SECRET` says it. */
export const canarySecret = `canary of a service ${seedOf('secret of a service').toString('base64url')}`

export const canaries: Readonly<Record<string, Uint8Array>> = {
  'the EVM key': evmSeed,
  'the Solana key': canarySolanaSeed,
  'the passphrase': Buffer.from(canaryPassphrase),
  'the API key': Buffer.from(canaryApiKey),
  'the secret of the service': Buffer.from(canarySecret),
}
