import { createHash } from 'node:crypto'
import type { TopUpResult } from '#contract/operations/wallet.ts'
import { authorization, signInWithX } from '#contract/wire/headers.ts'
import { normalizeWallet } from '#contract/wire/networks.ts'
import type { SettlementResponse } from '#contract/wire/payment.ts'
import { leastSkewMs, longestSkewMs } from './limits.ts'
import { parseHttpDate } from './retry/retry-after.ts'

/** Who signs in for a client, and pays what the client's `SendPayment` sends. Nothing else holds a key. */
export interface Payer {
  readonly address: string
  /**
   * Value of a fresh `SIGN-IN-WITH-X` header for a request to `url`; the message is the payer's own, never a server's text.
   * `skewMs`: how far the service's clock is ahead of this machine's.
   */
  signIn(url: string, options?: { skewMs?: number }): Promise<string>
}

/** Sends one signed payment. Never throws: an answer that did not come is an outcome. */
export type SendPayment = (paymentSignature: string) => Promise<SentPayment>

export type SentPayment =
  | { kind: 'credited'; result: TopUpResult; settlement: SettlementResponse | null }
  /** The service said no; the authorisation may still be good until it expires. */
  | { kind: 'rejected'; status: number; reason: string }
  /** Lost answer, 500, pending: only the same bytes may be sent again. */
  | { kind: 'unknown'; reason: string }

/** Who a client is for a service; null is unauthenticated. */
export type Credential = { apiKey: string } | { payer: Payer } | null

/** Headers of one request. A wallet signs in again for each, because a nonce serves once. */
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

/** How far the service's clock is ahead of ours, in milliseconds, as far as it is known: a sign-in is good for minutes. */
export class SignInSkew {
  #ms = 0

  get ms(): number {
    return this.#ms
  }

  /**
   * Whether a request whose sign-in was refused is worth one more, signed by the service's own clock, which is taken over.
   * No farther than a bound: nobody is to collect sign-ins for another day. `signedMs` is the skew that it was signed with,
   * which another request may have corrected meanwhile.
   */
  learnsFrom({ status, headers }: { status: number; headers: Headers }, signedMs: number, nowMs: number): boolean {
    const atMs = status === 401 ? parseHttpDate(headers.get('date') ?? '', nowMs) : null
    if (atMs === null) return false
    const skewMs = atMs - nowMs
    if (Math.abs(skewMs) > longestSkewMs || Math.abs(skewMs - signedMs) < leastSkewMs) return false
    this.#ms = skewMs
    return true
  }
}
