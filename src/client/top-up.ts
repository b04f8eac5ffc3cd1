import type { ServiceError } from '#contract/errors/service-error.ts'
import { TopUpResult, topUp } from '#contract/operations/wallet.ts'
import { isAhead } from '#contract/time.ts'
import { paymentRequired, paymentResponse, paymentSignature } from '#contract/wire/headers.ts'
import { type PaymentOption, TopUpRequired } from '#contract/wire/payment.ts'
import type { Client } from './client.ts'
import { ClientError } from './client-error.ts'
import type { SendPayment, SentPayment } from './credential.ts'
import { answerBytes, requirementsLifeMs } from './limits.ts'
import { parseHttpDate } from './retry/retry-after.ts'
import { readLeniently } from './wire/read-answer.ts'
import { readJson, writeRequest } from './wire/write-request.ts'

const noCall = { params: undefined, query: undefined, body: {} } as const

export interface TopUpOffer {
  accepts: readonly PaymentOption[]
  /** The current time on the service's clock, in Unix milliseconds; null if it did not send one. */
  serviceNowMs: (() => number) | null
}

/**
 * The two halves of `POST /x402/top-up` (brief §4.1): the payment options, and one signed payment. Neither sends a
 * credential.
 */
export class TopUpClient {
  readonly #client: Client
  #known: { offer: TopUpOffer; atMs: number } | null = null

  constructor(client: Client) {
    this.#client = client
  }

  /** Returns the service's offer, at most five minutes old, because each check costs a 402. */
  async offer(signal?: AbortSignal): Promise<TopUpOffer> {
    const nowMs = this.#client.clock.now()
    if (this.#known && isAhead(this.#known.atMs + requirementsLifeMs, requirementsLifeMs, nowMs))
      return this.#known.offer
    const response = await this.#exchange({}, signal)
    if (response.status !== 402) {
      if (response.status >= 400) throw await this.#client.errorOf(topUp, response)
      response.discard()
      throw unreadable()
    }
    const accepts = acceptsOf(await readJson(response, answerBytes), response.headers)
    if (!accepts) throw unreadable()
    const toldMs = parseHttpDate(response.headers.get('date') ?? '', nowMs)
    const offer = { accepts, serviceNowMs: toldMs === null ? null : goingOn(toldMs) }
    this.#known = { offer, atMs: nowMs }
    return offer
  }

  /** The offer may have changed after a refusal. */
  forget(): void {
    this.#known = null
  }

  /** Sends one signed payment once; the wallet itself sends the same bytes again. Never throws. */
  readonly send: SendPayment = async signed => {
    try {
      const response = await this.#exchange({ [paymentSignature.name]: signed })
      if (response.status === 200) {
        const result = readLeniently(TopUpResult, await readJson(response, answerBytes))
        const settlement = paymentResponse.parse(response.headers.get(paymentResponse.name) ?? '')
        return result ? { kind: 'credited', result, settlement } : { kind: 'unknown', reason: 'unreadable answer' }
      }
      return outcomeOf(await this.#client.errorOf(topUp, response))
    } catch (error) {
      return { kind: 'unknown', reason: error instanceof ClientError ? error.kind : 'no answer' }
    }
  }

  async #exchange(headers: Record<string, string>, signal?: AbortSignal) {
    const request = await writeRequest(this.#client.address.baseUrl, topUp, noCall, this.#client.vendor)
    return this.#client.exchange(
      { ...request, headers: { ...request.headers, ...headers } },
      { signal, isAnonymous: true },
    )
  }
}

/**
 * Only an explicit rejection counts as one; a limit or a fault says nothing about the payment. If the chain reports our
 * nonce as used, this payment used it: the money may have left, and only a check of the chain may release the amount.
 */
function outcomeOf(error: ServiceError): SentPayment {
  const { status, kind, body } = error
  if (status === 429 || status >= 500) return { kind: 'unknown', reason: `${status} ${kind}` }
  const details = (body as { details?: { reason?: unknown } } | null)?.details?.reason
  const reason = typeof details === 'string' ? details : kind
  return usedUp.test(reason)
    ? { kind: 'unknown', reason: `${status} nonce used` }
    : { kind: 'rejected', status, reason }
}

/** Codes that services and facilitators use for a payment that the chain has already seen. */
const usedUp =
  /nonce_?(is_|was_)?(already_)?(been_)?used|already_?(been_)?(used|settled|processed|spent)|authorization_?used/i

/** Uses a monotonic clock, because ours may be the one that is wrong. */
function goingOn(toldMs: number): () => number {
  const heardAtMs = performance.now()
  return () => toldMs + performance.now() - heardAtMs
}

/** Returns the options from the body, or from the header if they are only there. */
function acceptsOf(body: unknown, headers: Headers): readonly PaymentOption[] | null {
  const read = readLeniently(TopUpRequired, body)
  return read?.accepts ?? paymentRequired.parse(headers.get(paymentRequired.name) ?? '')?.accepts ?? null
}

const unreadable = (): ClientError =>
  new ClientError('unreadable', 'The service returned no payment options for a top-up.', { wasSent: true })
