import type { ServiceError } from '#contract/errors/service-error.ts'
import { TopUpResult, topUp } from '#contract/operations/wallet.ts'
import { paymentRequired, paymentResponse, paymentSignature } from '#contract/wire/headers.ts'
import { type PaymentOption, TopUpRequired } from '#contract/wire/payment.ts'
import type { Client } from './client.ts'
import { ClientError } from './client-error.ts'
import type { SendPayment, SentPayment } from './credential.ts'
import { answerBytes, requirementsLifeMs } from './limits.ts'
import { parseHttpDate } from './retry/retry-after.ts'
import { readJson } from './wire/body.ts'
import { readLeniently } from './wire/read-answer.ts'
import { writeRequest } from './wire/write-request.ts'

const noCall = { params: undefined, query: undefined, body: {} } as const

/** How the service is paid. */
export interface TopUpOffer {
  accepts: readonly PaymentOption[]
  /** Unix milliseconds by the service's clock, as they go on since it answered; null where it did not say. */
  serviceNowMs: (() => number) | null
}

/** The two halves of `POST /x402/top-up` (brief §4.1): what may be paid, and one signed payment. No credential goes with either. */
export class TopUpClient {
  readonly #client: Client
  #known: { offer: TopUpOffer; atMs: number } | null = null

  constructor(client: Client) {
    this.#client = client
  }

  /** What the service offers; asked again when older than five minutes, because every look is a 402. */
  async offer(signal?: AbortSignal): Promise<TopUpOffer> {
    const nowMs = this.#client.clock.now()
    if (this.#known && nowMs - this.#known.atMs < requirementsLifeMs) return this.#known.offer
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

  /** After a refusal the offer may have changed. */
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
 * A clear no is one that says so; a limit or a fault says nothing about the payment. A nonce of ours that is used was used
 * by this payment and no other: the money may have left, and only a look at the chain may free it.
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

/** Codes of services and facilitators for a payment that the chain has seen already. */
const usedUp =
  /nonce_?(is_|was_)?(already_)?(been_)?used|already_?(been_)?(used|settled|processed|spent)|authorization_?used/i

/** By a monotonic clock: ours may be what is wrong. */
function goingOn(toldMs: number): () => number {
  const heardAtMs = performance.now()
  return () => toldMs + performance.now() - heardAtMs
}

/** The body, or the header where a service says it only there. */
function acceptsOf(body: unknown, headers: Headers): readonly PaymentOption[] | null {
  const read = readLeniently(TopUpRequired, body)
  return read?.accepts ?? paymentRequired.parse(headers.get(paymentRequired.name) ?? '')?.accepts ?? null
}

const unreadable = (): ClientError =>
  new ClientError('unreadable', 'The service did not say how to pay for a top-up.', { wasSent: true })
