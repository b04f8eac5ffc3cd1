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
import { consentAfter409, consentBefore, shownMedia } from './consent.ts'
import { isLost, payingAccount } from './lost-call.ts'
import type { CallState, PaidCallRows } from './paid-call-rows.ts'
import { payAfter402 } from './pay-after-402.ts'
import { whileWanted } from './waiting-callers.ts'

interface Sending {
  rowId: string
  hash: string
  price: PricedCall
  /** For a person who is asked about it. */
  about: AskedAbout
  standing: CallState
  /** Takes the payments that the wallet makes for it. */
  payments: PaidOrder[]
  /** Whether anybody still waits for it. */
  isWanted(): boolean
}

/** The parts of an agent that a paid call uses. */
export interface PayingContext extends AgentContext {
  models: ModelRecords
  rows: PaidCallRows
  files: Files
  refills: Refills
}

/** Two top-ups for one call at most, of which one may be somebody else's that came first. */
const mostTopUps = 2

/** Sends what may be sent, and notes before each try that it was. */
export class PaidSends {
  readonly #agent: PayingContext
  readonly #models: ModelRecords
  readonly #rows: PaidCallRows
  /** The rows of those whose answer is awaited, or who mend what a service refused. */
  readonly #awaited = new Set<string>()
  readonly #closing = new AbortController()

  constructor(agent: PayingContext) {
    this.#agent = agent
    this.#models = agent.models
    this.#rows = agent.rows
  }

  /** Gives up every answer that is awaited and sends nothing any more. Returns the rows of those calls. */
  giveUp(): readonly string[] {
    const awaited = [...this.#awaited]
    this.#closing.abort(noAnswer('This program ended before the answer came.'))
    return awaited
  }

  /** At most one payment of ours and one consent; each is followed by the same request once more. */
  async send<O extends Operation>(operation: O, call: CallOf<O>, sending: Sending): Promise<ClientAnswer<O>> {
    const { rowId, hash, price, about, standing, payments } = sending
    const idempotencyKey = (await this.#takesKeys(standing)) ? rowId : undefined
    const asked = { operation: operation.id, requestHash: hash, about }
    const media = shownMedia(operation, (call as { body?: unknown }).body)
    // What was sent before was agreed to, or needed no consent.
    const isNew = !standing.mayBeCharged && !standing.isOnlyAsked && standing.consents === null
    if (isNew) await consentBefore(this.#agent, media, asked)
    let topUps = 0
    let hasPaid = false
    let hasConsent = standing.consents !== null
    for (;;) {
      try {
        return await this.#sendOnce(operation, call, sending, idempotencyKey)
      } catch (error) {
        if (!(error instanceof ServiceError) || !this.#wasRefused(error, sending)) throw error
        const consent = hasConsent ? null : await consentAfter409(this.#agent, error, asked, media)
        if (consent) {
          hasConsent = true
          standing.consents = JSON.stringify(consent)
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
    { rowId, standing, isWanted }: Sending,
    idempotencyKey: string | undefined,
  ): Promise<ClientAnswer<O>> {
    const { consents, allowedMicroUsd } = standing
    const request = withConsents(call, consents)
    const isKeyed = idempotencyKey !== undefined
    const account = await payingAccount(this.#agent)
    if (this.#closing.signal.aborted) throw isClosing()
    if (!isWanted()) throw isUnwanted()
    this.#rows.sent(rowId, { consents, allowedMicroUsd, isKeyed, account })
    const sentAtMs = this.#agent.clock.now()
    this.#awaited.add(rowId)
    const answer = await withinTime(this.#agent, this.#closing.signal, signal =>
      this.#ask(operation, request, rowId, { idempotencyKey, signal }),
    )
    this.#agent.refills.noticed(answer.headers, sentAtMs)
    return answer
  }

  /** Notes that the service did nothing, where it says so; true where that can be mended and somebody wants it to be. */
  #wasRefused(error: ServiceError, { rowId, standing, isWanted }: Sending): boolean {
    if (isLost(error) || (standing.mayBeCharged && !saysNothingWasDone(error))) return false
    standing.mayBeCharged = false
    this.#rows.mark(rowId, 'planned')
    return !standing.isOnlyAsked && isWanted()
  }

  /** What is made of pictures or sound is saved before it counts as answered. */
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
   * A new call may go without a key where nobody can say whether it is taken; one that is repeated under its key may not.
   * What went without one once has none for ever, because the service would take it for a new call.
   */
  async #takesKeys({ mayBeCharged, wentWithoutKey }: CallState): Promise<boolean> {
    if (wentWithoutKey) return false
    const taken = this.#models.takesKeys()
    return mayBeCharged ? taken : taken.catch(() => false)
  }
}

/** A person's word comes from a person: whatever else stands there is not sent. */
function withConsents<O extends Operation>(call: CallOf<O>, consents: string | null): CallOf<O> {
  const { body } = call as { body?: unknown }
  if (typeof body !== 'object' || body === null) return call
  const { consents: _, ...rest } = body as Record<string, unknown>
  return { ...call, body: { ...rest, ...(consents === null ? {} : JSON.parse(consents)) } as typeof call.body }
}

/** Of a call that was sent before: these two are said once its key is looked up, and any other may be said before that. */
const saysNothingWasDone = (error: ServiceError): boolean => wantsCredit(error) || error.kind === 'needs_consent'

const isClosing = (): ClientError =>
  new ClientError('not-allowed', 'This program is about to end, so nothing more is sent.', { wasSent: false })

const isUnwanted = (): ClientError =>
  new ClientError('not-allowed', 'The call was cancelled before it was sent.', { wasSent: false })

/**
 * One paid request, ended when its time is over however it drips, or when `closing` is aborted: its answer then counts as
 * lost, whatever the request itself is still waiting for.
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
