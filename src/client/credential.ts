import { createHash } from 'node:crypto'
import { authorization, signInWithX } from '#contract/wire/headers.ts'
import { normalizeWallet } from '#contract/wire/networks.ts'
import type { Payer } from './payer.ts'

/** Who a client is for a service; null is nobody. */
export type Credential = { apiKey: string } | { payer: Payer } | null

/** Headers of one request. A wallet signs in anew for each, because a nonce serves once. */
export async function credentialHeaders(
  credential: Credential,
  url: string,
  skewMs: number,
): Promise<Record<string, string>> {
  if (!credential) return {}
  if ('apiKey' in credential) return { [authorization.name]: `Bearer ${credential.apiKey}` }
  return { [signInWithX.name]: await credential.payer.signIn(url, { skewMs }) }
}

/** Tells callers apart without holding their secrets. */
export function principalOf(credential: Credential): string {
  if (!credential) return 'nobody'
  if ('payer' in credential) return `wallet:${normalizeWallet(credential.payer.address)}`
  return `key:${createHash('sha256').update(credential.apiKey).digest('hex').slice(0, 16)}`
}
