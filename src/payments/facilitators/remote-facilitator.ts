import { Agent, request } from 'undici'
import { z } from 'zod'
import { parseJson } from '#contract/wire/json.ts'
import { x402Version } from '#contract/wire/networks.ts'
import {
  type FacilitatorKind,
  FacilitatorSettlement,
  FacilitatorVerdict,
  facilitatorKinds,
  type PaymentOption,
} from '#contract/wire/payment.ts'
import { boundedWait } from '#host/async.ts'
import { bytesWithin, unreachable } from '#host/network.ts'
import {
  facilitatorAnswerBytes,
  facilitatorAnswerDepth,
  facilitatorConnections,
  facilitatorConnectMs,
  facilitatorSettleMs,
  facilitatorSupportedMs,
  facilitatorVerifyMs,
} from '../bounds.ts'
import { ChainUnavailable, type PaymentReason, type SignedPayment } from '../payment/payment.ts'
import { type Facilitator, type Settlement, SettlementPaused, type Verdict } from './rail.ts'

export type FacilitatorAction = 'verify' | 'settle' | 'supported'

export interface FacilitatorRequest {
  action: FacilitatorAction
  method: 'GET' | 'POST'
  url: URL
}

/**
 * Returns the headers that authenticate us at a facilitator. Called for each request, because some headers sign the
 * path. Never logged.
 */
export type FacilitatorHeaders = (
  request: FacilitatorRequest,
) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>

export interface RemoteFacilitatorSettings {
  /** The URL of any facilitator of x402 version 2, including its path; https, or http on this machine. */
  url: string
  /** Headers that authenticate us at the facilitator, created for each request, if it requires any. Never logged. */
  headers?: FacilitatorHeaders
}

export interface RemoteFacilitatorOptions extends RemoteFacilitatorSettings {
  /** CAIP-2; the network that it settles on. */
  network: string
  /** A node of that network. Who signed and what has landed is never decided by the facilitator. */
  rpcUrl: string
  /** Overrides those of the bounds. */
  answerMs?: Partial<Record<FacilitatorAction, number>>
}

interface FacilitatorAnswer {
  status: number
  /** The parsed JSON body; undefined if it is not JSON. */
  body: unknown
}

/** The request certainly did not reach the facilitator; `message` continues a sentence that names it. */
class FacilitatorUnreached extends Error {
  override readonly name = 'FacilitatorUnreached'
}

const usualAnswerMs: Readonly<Record<FacilitatorAction, number>> = {
  verify: facilitatorVerifyMs,
  settle: facilitatorSettleMs,
  supported: facilitatorSupportedMs,
}

/** Calls an x402 facilitator. Follows no redirect, because a signed payment is meant for this server alone. */
export class FacilitatorHttp {
  readonly host: string
  readonly #base: URL
  readonly #headers: FacilitatorHeaders
  readonly #answerMs: Readonly<Record<FacilitatorAction, number>>
  readonly #agent = new Agent({ connections: facilitatorConnections, connect: { timeout: facilitatorConnectMs } })

  /** Throws a sentence if the address is not suitable for payments. */
  constructor({ url, headers = () => ({}), answerMs }: Pick<RemoteFacilitatorOptions, 'url' | 'headers' | 'answerMs'>) {
    this.#base = baseOf(url)
    this.host = this.#base.host
    this.#headers = headers
    this.#answerMs = { ...usualAnswerMs, ...answerMs }
  }

  /**
   * Rejects if there was no complete answer in time. The facilitator may then have received the request, unless the
   * error is `FacilitatorUnreached`.
   */
  async ask(action: FacilitatorAction, body?: object): Promise<FacilitatorAnswer> {
    const method = body ? 'POST' : 'GET'
    const url = new URL(this.#base)
    url.pathname += action
    const deadline = AbortSignal.timeout(this.#answerMs[action])
    const headers = await this.#signIn({ action, method, url }, deadline)
    try {
      const response = await request(url, {
        dispatcher: this.#agent,
        method,
        headers: { ...headers, accept: 'application/json', ...(body ? { 'content-type': 'application/json' } : {}) },
        body: body ? JSON.stringify(body) : null,
        signal: deadline,
      })
      return { status: response.statusCode, body: await readJson(response.body) }
    } catch (error) {
      throw unreachedOr(error)
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  async #signIn(asked: FacilitatorRequest, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    try {
      return await boundedWait(Promise.resolve(this.#headers(asked)), { signal })
    } catch {
      // The message of any failure there may contain a secret.
      throw new FacilitatorUnreached(
        'was not contacted, because its headers could not be created; check the `headers` function.',
      )
    }
  }
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

function baseOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : null
  const isPrivate = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.test(url.hostname))
  if (!url || !isPrivate || url.username || url.password || url.search || url.hash) {
    throw new Error(
      'A facilitator’s URL must use https (http only on this machine), without user, password, query or fragment.',
    )
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/`
  return url
}

async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  const bytes = await bytesWithin(body, facilitatorAnswerBytes)
  if (!bytes) throw new Error('The facilitator’s answer is too large.')
  const parsed = parseJson(bytes.toString('utf8'), facilitatorAnswerDepth)
  return parsed.ok ? parsed.value : undefined
}

/** Wraps a failure before the first byte of a request, and no other failure. */
function unreachedOr(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return unreachable.has(code) || code === 'UND_ERR_INVALID_ARG'
    ? new FacilitatorUnreached('cannot be reached.', { cause: error })
    : error
}

/** The checks that we do not leave to a remote facilitator, and its rail's wire format. */
export interface RemoteRail<Payment extends SignedPayment> {
  /** CAIP-2. */
  network: string
  /**
   * Returns what is wrong with the signature, before anyone else sees it; null if it is valid. Rejects with
   * `ChainUnavailable`.
   */
  signatureProblem(payment: Payment): Promise<PaymentReason | null>
  /** The `payload` on the wire, with exactly its members. */
  payload(payment: Payment): object
  isTransaction(id: string): boolean
  /** Returns why the chain itself refuses the payment; null if it does not. Rejects if the node does not answer. */
  chainRefusal(payment: Payment): Promise<PaymentReason | null>
  /**
   * Returns what is wrong with the option itself, as a sentence; `kind` is what the facilitator reports about its
   * network.
   */
  offerProblem(option: PaymentOption, kind: FacilitatorKind): Promise<string | null>
}

/**
 * Lets a remote service verify and settle over HTTP. Its word alone credits nothing, and once it was told to settle a
 * payment, its refusal does not end that payment.
 */
export class RemoteFacilitator<Payment extends SignedPayment> implements Facilitator<Payment> {
  readonly #http: FacilitatorHttp
  readonly #rail: RemoteRail<Payment>

  constructor(http: FacilitatorHttp, rail: RemoteRail<Payment>) {
    this.#http = http
    this.#rail = rail
  }

  supported(): readonly string[] {
    return [this.#rail.network]
  }

  async problem(option: PaymentOption): Promise<string | null> {
    const { host } = this.#http
    const answer = await this.#http.ask('supported').catch(() => null)
    if (!answer) return `The facilitator at ${host} cannot be reached, so no payment can be settled; check its address.`
    const kinds = readSupported(answer)
    if (!kinds)
      return (
        turnedAwayBy(answer) ??
        `The facilitator at ${host} did not report what it supports; check its address and credentials.`
      )
    const kind = kinds.find(({ network }) => network === option.network)
    if (!kind) return `The facilitator at ${host} does not settle on ${option.network}; set another one.`
    return this.#rail
      .offerProblem(option, kind)
      .catch(() => 'The node cannot be reached, so payments cannot be checked; start it or set another RPC URL.')
  }

  async verify(payment: Payment): Promise<Verdict> {
    const reason = await this.#rail.signatureProblem(payment)
    if (reason) return { valid: false, reason }
    const verdict = readVerdict(await this.#askToVerify(payment))
    switch (verdict.says) {
      case 'valid':
        return { valid: true }
      case 'refused':
        return this.#explained(payment, verdict)
      case 'our fault':
        throw new SettlementPaused('The facilitator of this service accepts no payments at the moment.', verdict.why)
      default:
        throw new ChainUnavailable('The facilitator did not report whether the payment is valid.')
    }
  }

  /** Each facilitator has words of its own, so the chain is asked too: money may even have arrived already. */
  async #explained(payment: Payment, { reason, why }: RemoteRefusal): Promise<Verdict> {
    if (reason !== 'facilitator_refused' && reason !== 'simulation_failed') return { valid: false, reason }
    const known = await this.#rail.chainRefusal(payment).catch(() => null)
    return known ? { valid: false, reason: known } : { valid: false, reason, why }
  }

  /** Rejects if there is no answer: the payment may be in flight. */
  async settle(payment: Payment): Promise<Settlement> {
    try {
      const answer = await this.#http.ask('settle', this.#terms(payment))
      return readSettlement(answer, id => this.#rail.isTransaction(id))
    } catch (error) {
      if (!(error instanceof FacilitatorUnreached)) throw error
      return { state: 'unsent', why: `The facilitator at ${this.#http.host} ${error.message}` }
    }
  }

  close(): Promise<void> {
    return this.#http.close()
  }

  async #askToVerify(payment: Payment) {
    try {
      return await this.#http.ask('verify', this.#terms(payment))
    } catch (cause) {
      throw new ChainUnavailable('The facilitator did not answer.', { cause })
    }
  }

  /** Sends our own option as both accepted and required, whatever the client wrote. */
  #terms(payment: Payment): object {
    const { option } = payment
    const paymentPayload = { x402Version, accepted: option, payload: this.#rail.payload(payment) }
    return { x402Version, paymentPayload, paymentRequirements: option }
  }
}

const readSupported = ({ status, body }: FacilitatorAnswer): FacilitatorKind[] | null =>
  status === 200 ? facilitatorKinds(body) : null

const reasons: Readonly<Record<string, PaymentReason>> = {
  insufficient_funds: 'insufficient_funds',
  insufficient_balance: 'insufficient_funds',
  invalid_exact_evm_insufficient_balance: 'insufficient_funds',
  invalid_exact_evm_nonce_already_used: 'nonce_used',
  invalid_exact_evm_payload_authorization_valid_before: 'expired',
  invalid_exact_evm_payload_authorization_valid_after: 'not_yet_valid',
  invalid_transaction_state: 'simulation_failed',
}

interface RemoteRefusal {
  says: 'refused'
  reason: PaymentReason
  why: string
}

type RemoteVerdict =
  | { says: 'valid' }
  | RemoteRefusal
  /** No payment would be accepted; `why` is for the operator. */
  | { says: 'our fault'; why: string }
  /** The facilitator could not tell, or reports a wrong signature, which we check ourselves. */
  | { says: 'nothing' }

/** Words for what is not the payer's: the terms, which it gets from us, and its own accounts. */
const ourTerms =
  /requirements|network|scheme|version|domain|token_name|not_supported|unsupported|not_managed|missing_fee_payer|to_address_kyt/i

function readVerdict(answer: FacilitatorAnswer): RemoteVerdict {
  const parsed = FacilitatorVerdict.safeParse(answer.body)
  if (!parsed.success) {
    const isRefused = answer.status >= 300 && answer.status < 500
    return isRefused
      ? { says: 'our fault', why: turnedAwayBy(answer) ?? unreadableAnswer(answer) }
      : { says: 'nothing' }
  }
  if (parsed.data.isValid) return { says: 'valid' }
  const word = parsed.data.invalidReason ?? ''
  if (word === '' || /unexpected|signature|internal|timeout|unavailable/i.test(word)) return { says: 'nothing' }
  const why = `The facilitator reports ${wordOf(word)}.`
  if (ourTerms.test(word)) return { says: 'our fault', why }
  return { says: 'refused', reason: reasonOf(word), why }
}

function reasonOf(word: string): PaymentReason {
  if (Object.hasOwn(reasons, word)) return reasons[word] as PaymentReason
  return /simulation_failed$/.test(word) ? 'simulation_failed' : 'facilitator_refused'
}

/** Answers by which the request was not even processed, each with what the operator can do. */
const turnedAway: Readonly<Record<number, string>> = {
  401: 'check the credentials that it is sent',
  402: 'it requires a payment for this call',
  403: 'check the credentials that it is sent',
  404: 'check its address',
  405: 'check its address',
  429: 'its rate limit is reached',
}

/** Null if the request may have been processed. */
function turnedAwayBy({ status }: FacilitatorAnswer): string | null {
  const advice = status >= 300 && status < 400 ? 'it has moved; set its new address' : turnedAway[status]
  return advice ? `The facilitator answered ${status}: ${advice}.` : null
}

/** Some facilitators name the kind of a fault. */
const Fault = z.object({ errorType: z.string() })

function unreadableAnswer({ status, body }: FacilitatorAnswer): string {
  const fault = Fault.safeParse(body)
  const word = fault.success ? plainWord(fault.data.errorType) : null
  return `The facilitator answered ${status}${word === null ? '' : ` (${word})`}, which cannot be read.`
}

/** Reads its answer to a settlement. An answer that cannot be read proves nothing: anything may have happened. */
function readSettlement(answer: FacilitatorAnswer, isTransaction: (id: string) => boolean): Settlement {
  const parsed = FacilitatorSettlement.safeParse(answer.body)
  if (!parsed.success) {
    const why = turnedAwayBy(answer)
    return why === null ? { state: 'doubtful', why: unreadableAnswer(answer) } : { state: 'unsent', why }
  }
  const { success, transaction, errorReason } = parsed.data
  const id = transaction && isTransaction(transaction) ? transaction : null
  if (success && id) return { state: 'settled', transaction: id }
  if (success) return { state: 'doubtful', why: 'The facilitator reports a settlement without its transaction.' }
  if (errorReason === 'settlement_pending' && id) return { state: 'sent', transaction: id }
  return { state: 'doubtful', why: `The facilitator reports ${wordOf(errorReason)}.` }
}

/** An untrusted reason is logged only if it is a single word. */
const plainWord = (reason: string | null | undefined): string | null =>
  reason && /^[\w.:-]{1,80}$/.test(reason) ? reason : null

const wordOf = (reason: string | null | undefined): string => plainWord(reason) ?? 'that it failed'
