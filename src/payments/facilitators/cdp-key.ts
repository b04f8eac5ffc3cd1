import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto'
import { type Clock, systemClock } from '#contract/time.ts'
import type { FacilitatorHeaders } from './remote-facilitator.ts'

/** An API key of the Coinbase Developer Platform (CDP), as its portal shows it. */
export interface CdpKey {
  apiKeyId: string
  /** The Ed25519 secret: 64 bytes in base64, first the private key and then the public key. */
  apiKeySecret: string
}

/** Coinbase's facilitator of x402 version 2. */
export const cdpFacilitatorUrl = 'https://api.cdp.coinbase.com/platform/v2/x402'

/** How long a token is valid: the most that CDP accepts. A new one is signed for each request. */
const tokenSeconds = 120

/** Returns the headers for CDP's facilitator: each token names one method, host and path. Throws for an unusable key. */
export function cdpHeaders({ apiKeyId, apiKeySecret }: CdpKey, clock: Clock = systemClock): FacilitatorHeaders {
  const key = readCdpSecret(apiKeySecret)
  if (!key) throw new Error(cdpSecretNeeded)
  return ({ method, url }) => {
    const now = Math.floor(clock.now() / 1000)
    const header = { alg: 'EdDSA', kid: apiKeyId, typ: 'JWT', nonce: randomBytes(16).toString('hex') }
    const claims = {
      ...{ sub: apiKeyId, iss: 'cdp', aud: ['cdp_service'], uris: [`${method} ${url.host}${url.pathname}`] },
      ...{ iat: now, nbf: now, exp: now + tokenSeconds },
    }
    const signed = `${part(header)}.${part(claims)}`
    const signature = sign(null, Buffer.from(signed), key).toString('base64url')
    return { authorization: `Bearer ${signed}.${signature}` }
  }
}

/** What a secret must be, without showing it. */
export const cdpSecretNeeded =
  'Must be the secret of a CDP API key that was created with the signature algorithm Ed25519: 64 bytes in base64'

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Null if the text is no such secret, or if its halves do not belong together, as after a bad copy. */
export function readCdpSecret(secret: string): KeyObject | null {
  const bytes = /^[A-Za-z0-9+/]{86}==$/.test(secret) ? Buffer.from(secret, 'base64') : null
  if (!bytes) return null
  const [d, x] = [bytes.subarray(0, 32).toString('base64url'), bytes.subarray(32).toString('base64url')]
  const key = createPrivateKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', d, x } })
  return createPublicKey(key).export({ format: 'jwk' }).x === x ? key : null
}
