import type { CallOptions, ClientAnswer } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import type { CallOf, Operation } from '#contract/operations/operation.ts'
import type { PaidOrder } from '#wallet/payment/pay.ts'
import type { AskedAbout } from '#wallet/terms/about-call.ts'
import { paidAnswerMs } from '../bounds.ts'
import type { AgentContext } from '../context.ts'
import type { Files } from '../media/files.ts'
import { makeMedia, makesMedia } from '../media/made-media.ts'
import type { ModelRecords } from '../prices/model-records.ts'
import type { PricedCall } from '../prices/priced-call.ts'
import type { Refills } from '../wallet/refills.ts'
import { wantsCredit } from '../words/explain.ts'
import { consentAfter409, consentBefore, shownMedia, withConsents } from './consent.ts'
import { isLost, payingAccount } from './lost-call.ts'
import type { CallState, PaidCallRows } from './paid-call-rows.ts'
import { payAfter402 } from './pay-after-402.ts'
import { whileWanted } from './waiting-callers.ts'

/** A call to send, with what its caller allowed. */
interface Sending {
  rowId: string
  hash: string
  price: PricedCall
  /** What the user sees when they must decide on it. */
  about: AskedAbout
  callState: CallState
  /** Collects the payments that the wallet makes for it. */
  payments: PaidOrder[]
  /** Whether any caller still waits for it. */
  isWanted(): boolean
}

/** The parts of an agent that a paid call uses. */
export interface PayingContext extends AgentContext {
  models: ModelRecords
  rows: PaidCallRows
  files: Files
  refills: Refills
}

/** At most two top-ups for one call; another call may have started one of them. */
const mostTopUps = 2

/** Sends what may be sent, and records each attempt before it. */
export class PaidSends {
  readonly #agent: PayingContext
  /** Rows of calls that await an answer, or whose refusal is being fixed by a payment or a consent. */
  readonly #awaited = new Set<string>()
  readonly #closing = new AbortController()

  constructor(agent: PayingContext) {
    this.#agent = agent
  }

  /** Stops waiting for every answer and sends nothing more. Returns the rows of those calls. */
  giveUp(): readonly string[] {
    const awaited = [...this.#awaited]
    this.#closing.abort(noAnswer('This program ended before the answer arrived.'))
    return awaited
  }

  /** At most one payment of ours and one consent; after each, the same request is sent once more. */
  async send<O extends Operation>(operation: O, call: CallOf<O>, sending: Sending): Promise<ClientAnswer<O>> {
    const { rowId, hash, price, about, callState, payments } = sending
    const idempotencyKey = (await this.#takesKeys(callState)) ? rowId : undefined
    const asked = { operation: operation.id, requestHash: hash, about }
    const media = shownMedia(operation, (call as { body?: unknown }).body)
    // A call that was sent before had its consent, or needed none.
    const isNew = !callState.mayBeCharged && !callState.isOnlyAsked && callState.consents === null
    if (isNew) await consentBefore(this.#agent, media, asked)
    let topUps = 0
    let hasPaid = false
    let hasConsent = callState.consents !== null
    for (;;) {
      try {
        return await this.#sendOnce(operation, call, sending, idempotencyKey)
      } catch (error) {
        if (!(error instanceof ServiceError) || !this.#wasRefused(error, sending)) throw error
        const consent = hasConsent ? null : await consentAfter409(this.#agent, error, asked, media)
        if (consent) {
          hasConsent = true
          callState.consents = JSON.stringify(consent)
          continue
        }
        const paid: PaidOrder | null =
          hasPaid || topUps === mostTopUps ? null : await payAfter402(this.#agent, error, price, asked)
        if (!paid) throw error
        topUps++
        hasPaid = !paid.isEarlier
        if (hasPaid) payments.push(paid)
      } finally {
        this.#awaited.delete(rowId)
      }
    }
  }

  async #sendOnce<O extends Operation>(
    operation: O,
    call: CallOf<O>,
    { rowId, callState, isWanted }: Sending,
    idempotencyKey: string | undefined,
  ): Promise<ClientAnswer<O>> {
    const { consents, allowedMicroUsd } = callState
    const request = withConsents(call, consents)
    const isKeyed = idempotencyKey !== undefined
    const account = await payingAccount(this.#agent)
    if (this.#closing.signal.aborted) throw isClosing()
    if (!isWanted()) throw isUnwanted()
    this.#agent.rows.sent(rowId, { consents, allowedMicroUsd, isKeyed, account })
    const sentAtMs = this.#agent.clock.now()
    this.#awaited.add(rowId)
    const answer = await withinTime(this.#agent, this.#closing.signal, signal =>
      this.#ask(operation, request, rowId, { idempotencyKey, signal }),
    )
    this.#agent.refills.noticed(answer.headers, sentAtMs)
    return answer
  }

  /**
   * Records that the service did nothing, if it says so. Returns whether the problem can be fixed and the call is still
   * wanted.
   */
  #wasRefused(error: ServiceError, { rowId, callState, isWanted }: Sending): boolean {
    if (isLost(error) || (callState.mayBeCharged && !saysNothingWasDone(error))) return false
    callState.mayBeCharged = false
    this.#agent.rows.mark(rowId, 'planned')
    return !callState.isOnlyAsked && isWanted()
  }

  /** Images and audio are saved before the call counts as answered. */
  #ask<O extends Operation>(
    operation: O,
    call: CallOf<O>,
    callId: string,
    options: CallOptions,
  ): Promise<ClientAnswer<O>> {
    const { client, files } = this.#agent
    return makesMedia(operation)
      ? makeMedia({ client, files, callId }, operation, call, options)
      : client.call(operation, call, options)
  }

  /**
   * A new call may go without a key if it is unknown whether the service accepts keys; a repeat with its key may not. A
   * call that was once sent without a key never gets one, because the service would take it for a new call.
   */
  async #takesKeys({ mayBeCharged, wentWithoutKey }: CallState): Promise<boolean> {
    if (wentWithoutKey) return false
    const taken = this.#agent.models.takesKeys()
    return mayBeCharged ? taken : taken.catch(() => false)
  }
}

/** For a call that was sent before: the service answers only these two after it has looked up the key. */
const saysNothingWasDone = (error: ServiceError): boolean => wantsCredit(error) || error.kind === 'needs_consent'

const isClosing = (): ClientError =>
  new ClientError('not-allowed', 'This program is shutting down and sends nothing more.', { wasSent: false })

const isUnwanted = (): ClientError =>
  new ClientError('not-allowed', 'The call was cancelled before it was sent.', { wasSent: false })

/**
 * Runs one paid request. It ends when its time is over, however slowly its answer arrives, or when `closing` is
 * aborted: its answer then counts as lost, even if the request itself is still waiting.
 */
async function withinTime<Result>(
  { pause }: Pick<AgentContext, 'pause'>,
  closing: AbortSignal,
  send: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController()
  const waiting = new AbortController()
  const over = () => ending.abort(noAnswer('The answer took too long.'))
  pause(paidAnswerMs, waiting.signal).then(over, () => {})
  const signal = AbortSignal.any([ending.signal, closing])
  try {
    return await whileWanted(send(signal), signal)
  } finally {
    waiting.abort()
  }
}

const noAnswer = (message: string): ClientError => new ClientError('no-answer', message, { wasSent: true })
