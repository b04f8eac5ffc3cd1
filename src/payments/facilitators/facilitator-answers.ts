import { z } from 'zod'
import { x402Version } from '#contract/wire/networks.ts'
import type { PaymentReason } from '../payment/payment-reasons.ts'
import type { Settlement } from './facilitator.ts'
import type { FacilitatorAnswer } from './facilitator-http.ts'

/** What facilitators of x402 version 2 answer. Members that nobody here reads are left alone. */

const Word = z.string().nullish()
const Verified = z.object({ isValid: z.boolean(), invalidReason: Word })
const Settled = z.object({ success: z.boolean(), errorReason: Word, transaction: Word })
const Kind = z.object({
  x402Version: z.number(),
  scheme: z.string(),
  network: z.string(),
  extra: z.record(z.string(), z.unknown()).nullish(),
})
const Supported = z.object({ kinds: z.array(z.unknown()) })

export type FacilitatorKind = z.output<typeof Kind>

/** What it settles by the scheme `exact`; kinds that are written otherwise are left out. Null where it is no list at all. */
export function readSupported({ status, body }: FacilitatorAnswer): FacilitatorKind[] | null {
  const parsed = Supported.safeParse(body)
  if (status !== 200 || !parsed.success) return null
  return parsed.data.kinds
    .map(kind => Kind.safeParse(kind))
    .flatMap(kind => (kind.success ? [kind.data] : []))
    .filter(kind => kind.x402Version === x402Version && kind.scheme === 'exact')
}

const reasons: Readonly<Record<string, PaymentReason>> = {
  insufficient_funds: 'insufficient_funds',
  insufficient_balance: 'insufficient_funds',
  invalid_exact_evm_insufficient_balance: 'insufficient_funds',
  invalid_exact_evm_nonce_already_used: 'nonce_used',
  invalid_exact_evm_payload_authorization_valid_before: 'expired',
  invalid_exact_evm_payload_authorization_valid_after: 'not_yet_valid',
  invalid_exact_evm_transaction_simulation_failed: 'simulation_failed',
  invalid_transaction_state: 'simulation_failed',
}

export type RemoteVerdict =
  | { says: 'valid' }
  | { says: 'refused'; reason: PaymentReason }
  /** It could not tell, or says that a signature is wrong, which is checked here. */
  | { says: 'nothing' }

export function readVerdict({ body }: FacilitatorAnswer): RemoteVerdict {
  const parsed = Verified.safeParse(body)
  if (!parsed.success) return { says: 'nothing' }
  if (parsed.data.isValid) return { says: 'valid' }
  const word = parsed.data.invalidReason ?? ''
  if (word === '' || /unexpected|signature|internal|timeout|unavailable/i.test(word)) return { says: 'nothing' }
  return {
    says: 'refused',
    reason: Object.hasOwn(reasons, word) ? (reasons[word] as PaymentReason) : 'facilitator_refused',
  }
}

/** Answers by which the question was not even taken up; each with what the operator can do. */
const turnedAway: Readonly<Record<number, string>> = {
  401: 'check the credentials that it is sent',
  402: 'it wants to be paid itself',
  403: 'check the credentials that it is sent',
  404: 'check its address',
  405: 'check its address',
  429: 'it is asked more often than it allows',
}

/** What it says of a settlement; null where it says nothing that can be read, which means that anything may have happened. */
export function readSettlement(
  { status, body }: FacilitatorAnswer,
  isTransaction: (id: string) => boolean,
): Settlement | null {
  const parsed = Settled.safeParse(body)
  if (!parsed.success) {
    const advice = status >= 300 && status < 400 ? 'it has moved; set its new address' : turnedAway[status]
    return advice ? { state: 'unsent', why: `The facilitator answered ${status}: ${advice}.` } : null
  }
  const { success, transaction, errorReason } = parsed.data
  const id = transaction && isTransaction(transaction) ? transaction : null
  if (success) return id ? { state: 'settled', transaction: id } : null
  if (errorReason === 'settlement_pending' && id) return { state: 'sent', transaction: id }
  return { state: 'doubtful', why: `The facilitator says ${wordOf(errorReason)}.` }
}

/** A stranger's word goes to the log where it is one, and no text of theirs. */
const wordOf = (reason: string | null | undefined): string =>
  reason && /^[\w.:-]{1,80}$/.test(reason) ? reason : 'that it failed'
