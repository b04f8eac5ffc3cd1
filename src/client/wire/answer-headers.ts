import type { MicroUsd } from '#contract/money.ts'
import {
  balanceRemaining,
  balanceUsd,
  idempotentReplayed,
  isBlurred,
  modelId,
  paidOncePerKey,
  receipt,
  requestId,
} from '#contract/wire/headers.ts'
import { vendorHeader } from '#contract/wire/vendor.ts'
import { type LimitWindow, limitWindow } from '../pace/limiter.ts'

/** What the headers of an answer say, in our words; null where they say nothing. */
export interface AnswerHeaders {
  requestId: string | null
  model: string | null
  /** A wallet's credit after this call. */
  balanceRemaining: MicroUsd | null
  /** Credit before this call. */
  balanceBefore: MicroUsd | null
  window: LimitWindow | null
  /** The signed receipt of the charge, where one came with the answer. */
  receipt: string | null
  /** The answer of an earlier request under the same key. */
  isReplayed: boolean
  /** An image was blurred by the service's content policy. */
  isBlurred: boolean
  /** The service does paid work once for each `Idempotency-Key`. */
  takesKeys: boolean
}

export function answerHeaders(headers: Headers, nowMs: number): AnswerHeaders {
  const read = <Value>(codec: { name: string; parse(text: string): Value | null }): Value | null => {
    const text = headers.get(codec.name)
    return text === null ? null : codec.parse(text)
  }
  return {
    requestId: read(requestId),
    model: read(modelId),
    balanceRemaining: read(balanceRemaining),
    balanceBefore: read(balanceUsd),
    window: limitWindow(headers, nowMs),
    receipt: read(receipt),
    isReplayed: read(idempotentReplayed) === true,
    isBlurred: read(isBlurred) === true,
    takesKeys: read(paidOncePerKey) === true,
  }
}

/** Headers with the vendor's word replaced by ours. */
export function inOurWords(headers: Headers, vendor: string): Headers {
  const ours = new Headers()
  const theirs = vendorHeader('x-service-', vendor)
  for (const [name, value] of headers) ours.append(name.replace(new RegExp(`^${theirs}`), 'x-service-'), value)
  return ours
}
