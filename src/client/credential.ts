import { createHash } from 'node:crypto'
import type { TopUpResult } from '#contract/operations/wallet.ts'
import { authorization, signInWithX } from '#contract/wire/headers.ts'
import { normalizeWallet } from '#contract/wire/networks.ts'
import type { SettlementResponse } from '#contract/wire/payment.ts'
import { leastSkewMs, longestSkewMs } from './limits.ts'
import { parseHttpDate } from './retry/retry-after.ts'

/** Signs in for a client and sends its payments. Only the payer holds a key. */
export interface Payer {
  readonly address: string
  /**
   * Returns a fresh `SIGN-IN-WITH-X` header for a request to `url`. The message is the payer's own, never a server's
   * text. `skewMs` is how far the service's clock is ahead of this machine's.
   */
  signIn(url: string, options?: { skewMs?: number }): Promise<string>
}

/** Sends one signed payment. Never throws: a missing answer is an outcome. */
export type SendPayment = (paymentSignature: string) => Promise<SentPayment>

export type SentPayment =
  | { kind: 'credited'; result: TopUpResult; settlement: SettlementResponse | null }
  /** The service rejected it; the authorization may still be valid until it expires. */
  | { kind: 'rejected'; status: number; reason: string }
  /** The answer was lost, was a 500, or says pending: only the same bytes may be sent again. */
  | { kind: 'unknown'; reason: string }

/** How a client identifies itself to a service; null is unauthenticated. */
export type Credential = { apiKey: string } | { payer: Payer } | null

/** Returns the headers of one request. A wallet signs in again for each, because a nonce works once. */
export async function credentialHeaders(
  credential: Credential,
  url: string,
  skewMs: number,
): Promise<Record<string, string>> {
  if (!credential) return {}
  if ('apiKey' in credential) return { [authorization.name]: `Bearer ${credential.apiKey}` }
  return { [signInWithX.name]: await credential.payer.signIn(url, { skewMs }) }
}

/** Distinguishes callers without holding their secrets. */
export function principalOf(credential: Credential): string {
  if (!credential) return 'anonymous'
  if ('payer' in credential) return `wallet:${normalizeWallet(credential.payer.address)}`
  return `key:${createHash('sha256').update(credential.apiKey).digest('hex').slice(0, 16)}`
}

/**
 * How far the service's clock is known to be ahead of ours, in milliseconds. This matters because a sign-in is valid
 * only for minutes.
 */
export class SignInSkew {
  #ms = 0

  get ms(): number {
    return this.#ms
  }

  /**
   * Whether to sign and send a request again after its sign-in was refused, using the service's clock. The correction
   * is bounded, so that a service cannot collect sign-ins for another day. `signedMs` is the skew used for signing,
   * which another request may have corrected since.
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
