import type { CallOptions, ClientAnswer } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { principalOf } from '#client/credential.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { zeroUsd } from '#contract/money.ts'
import type { CallOf, Operation } from '#contract/operations/operation.ts'
import type { PaidOptions } from '#toolkit/tool-context.ts'
import { allowCall } from '#wallet/approvals/allow-call.ts'
import type { PaidOrder } from '#wallet/payment/pay.ts'
import type { AskedAbout } from '#wallet/terms/about-call.ts'
import { paidAnswerMs } from '../bounds.ts'
import type { AgentContext } from '../context.ts'
import type { Files } from '../media/files.ts'
import { makeMedia, makesMedia } from '../media/made-media.ts'
import { checkChoices } from '../prices/check-choices.ts'
import { askedModel, type ModelRecords, shownModel, UnknownModel } from '../prices/model-records.ts'
import { priceCall } from '../prices/price-call.ts'
import type { PricedCall } from '../prices/priced-call.ts'
import type { Refills } from '../wallet/refills.ts'
import { cannotPay, wantsCredit } from '../words/explain.ts'
import { askedAbout, requestHash, type ToolAsking } from './about-request.ts'
import { consentAfter409, consentBefore, shownMedia, withConsents } from './consent.ts'
import { isAnothersCall, isLost, payingAccount, reconcileLostCall, wasNeverSent } from './lost-call.ts'
import {
  type CallState,
  type Claim,
  callStateAtStart,
  isAllowedAt,
  type PaidCallRow,
  type PaidCallRows,
  UnwrittenEnds,
} from './paid-call-rows.ts'
import { type CallPayment, payAfter402, recoverOnce } from './pay-after-402.ts'
import { type WaitingCaller, WaitingCallers, whileWanted } from './waiting-callers.ts'

export type Bought<O extends Operation> =
  | { kind: 'bought'; rowId: string; price: PricedCall; answer: ClientAnswer<O>; payments: readonly CallPayment[] }
  /** An earlier, undelivered call that is equal. */
  | { kind: 'earlier'; row: PaidCallRow }
  /** The same call is in flight in another process. */
  | { kind: 'elsewhere'; row: PaidCallRow }

/** Includes the facts that the user sees if an approval is needed. */
type BuyOptions = PaidOptions & { asking?: ToolAsking | null }

export interface Buying<O extends Operation> {
  rowId: string
  bought: Promise<Bought<O>>
  /** What the wallet has paid for it so far, even if the call then fails. */
  payments: readonly CallPayment[]
}

/** Records what was bought in the transaction that stores its answer. */
export type Keep<O extends Operation> = (rowId: string, answer: ClientAnswer<O>, price: PricedCall) => void

/** A call that was sent, as far as its details are still known. */
interface Resumed<O extends Operation> {
  operation: O
  call: CallOf<O>
  keep: Keep<O>
  asking: ToolAsking
}

/** The only path for calls that cost money: price, approval, row, call, 402, 409. Every tool uses it. */
export class PaidCalls {
  readonly #agent: PayingContext
  readonly #recover: () => Promise<readonly CallPayment[]>
  /** This process's calls in flight, by row; an equal call joins instead of buying twice. */
  readonly #inFlight = new Map<string, { hash: string; bought: Promise<Bought<Operation>> }>()
  readonly #callers = new WaitingCallers()
  readonly #ends: UnwrittenEnds
  readonly #sends: PaidSends

  constructor(agent: PayingContext) {
    this.#agent = agent
    this.#recover = recoverOnce(agent)
    this.#ends = new UnwrittenEnds(agent.rows)
    this.#sends = new PaidSends(agent)
  }

  /**
   * Once sent, a call runs to its end even if its callers stop waiting, because what is paid for is kept; before that,
   * a call that all callers have cancelled is neither sent nor paid. Throws the client's, service's and wallet's
   * errors.
   */
  buy<O extends Operation>(
    operation: O,
    call: CallOf<O>,
    { again = false, asking = null }: BuyOptions,
    keep: Keep<O>,
    caller?: WaitingCaller,
  ): Buying<O> {
    if (this.#agent.pays === 'nothing') throw cannotPay(this.#agent)
    const hash = this.#hashOf(operation, call)
    const running = again ? undefined : [...this.#inFlight].findLast(([, one]) => one.hash === hash)
    if (running) {
      this.#callers.join(running[0], caller)
      return { rowId: running[0], bought: this.#joined(...running), payments: [] }
    }
    this.#ends.write()
    const claim = this.#agent.rows.claim(hash, operation.id, again)
    return this.#begin({ operation, call, hash, claim, asking, isOnlyAsked: false }, keep, caller)
  }

  /** Returns this process's call in flight with this row, for callers that wait for it. */
  pendingEnd(rowId: string): Promise<unknown> | null {
    return this.#inFlight.get(rowId)?.bought ?? null
  }

  /**
   * Finds out the outcome of a call that was sent, with its key if it has one. Nothing is bought again, paid or
   * consented to: if the service did nothing, it ends. Null if another process is running it.
   */
  resume<O extends Operation>(rowId: string, { operation, call, keep, asking }: Resumed<O>): Buying<O> | null {
    const hash = this.#hashOf(operation, call)
    if (this.#agent.rows.find(rowId)?.requestHash !== hash) throw isAnothersCall()
    this.#ends.write()
    const claim = this.#agent.rows.claimRow(rowId)
    if (claim?.kind === 'running') return null
    if (claim && claim.kind !== 'mine')
      return this.#begin({ operation, call, hash, claim, asking, isOnlyAsked: true }, keep)
    this.#agent.rows.mark(rowId, 'failed')
    throw wasNeverSent()
  }

  /** The answer was delivered; from now on the same call buys a new one. */
  delivered(rowId: string): void {
    this.#agent.rows.mark(rowId, 'delivered')
  }

  /** Resolves when no call is in flight any more. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#inFlight.values()].map(({ bought }) => bought))
  }

  /**
   * Stops waiting for every answer and sends nothing more. Resolves when the rows of those calls say that their answers
   * are lost, so that the same call asks for them.
   */
  async giveUp(): Promise<void> {
    await Promise.allSettled(this.#sends.giveUp().map(rowId => this.pendingEnd(rowId)))
  }

  #hashOf<O extends Operation>(operation: O, call: CallOf<O>): string {
    const { address, credential } = this.#agent.client
    return requestHash(address.baseUrl, principalOf(credential), operation, call)
  }

  async #joined(rowId: string, { bought }: { bought: Promise<unknown> }): Promise<Bought<never>> {
    await bought
    return { kind: 'earlier', row: this.#agent.rows.get(rowId) }
  }

  #begin<O extends Operation>(order: Order<O>, keep: Keep<O>, caller?: WaitingCaller): Buying<O> {
    const { claim, hash } = order
    if (claim.kind === 'earlier' || claim.kind === 'running') {
      const kind = claim.kind === 'earlier' ? 'earlier' : 'elsewhere'
      return { rowId: claim.row.id, bought: Promise.resolve({ kind, row: claim.row }), payments: [] }
    }
    const rowId = claim.kind === 'lost' ? claim.row.id : claim.id
    this.#callers.begin(rowId, caller)
    const payments: CallPayment[] = []
    const bought = this.#buy(order, rowId, keep, payments)
    this.#inFlight.set(rowId, { hash, bought })
    const forget = () => {
      this.#inFlight.delete(rowId)
      this.#callers.forget(rowId)
    }
    bought.then(forget, forget)
    return { rowId, bought, payments }
  }

  async #buy<O extends Operation>(order: Order<O>, id: string, keep: Keep<O>, payments: CallPayment[]) {
    const { operation, call, hash, claim, asking, isOnlyAsked } = order
    const { body } = call as { body?: unknown }
    const callState = callStateAtStart(claim, isOnlyAsked)
    try {
      payments.push(...(await this.#recover()))
      if (claim.kind === 'lost') await reconcileLostCall(this.#agent, this.#agent.models, claim.row, callState)
      else await checkChoices(this.#agent.models, operation, body)
      const price = await this.#priceOf(order)
      const about = askedAbout(body, asking, price.amountMicroUsd)
      const isAllowed = isAllowedAt(callState, price.amountMicroUsd)
      const quotedMicroUsd = isAllowed ? zeroUsd : price.amountMicroUsd
      const { mayBeSecond } = callState
      const planned = { what: price.what, quotedMicroUsd, operation: operation.id, mayBeSecond, about }
      await allowCall(this.#agent, planned, { requestHash: hash, by: id, wasSent: claim.kind === 'lost' })
      // The user has approved it as a new call, so the outcome of the first one no longer matters.
      if (mayBeSecond) callState.mayBeCharged = false
      if (!isAllowed) callState.allowedMicroUsd = price.amountMicroUsd
      const isWanted = () => this.#callers.isWanted(id)
      const sending = { rowId: id, hash, price, about, callState, payments, isWanted }
      const answer = await this.#sends.send(operation, call, sending)
      // If only recording fails, the call has been paid for and must not be bought again automatically.
      callState.mayBeCharged = true
      keep(id, answer, price)
      return { kind: 'bought', rowId: id, price, answer, payments } as const
    } catch (error) {
      const state = this.#agent.rows.find(id)?.state
      // A stored answer stays stored, even if something failed after it.
      if (state === 'answered') throw error
      const mayBeCharged = callState.mayBeCharged || isLost(error)
      // An attempt that sent nothing does not change the time of the lost one.
      if (!mayBeCharged || state !== 'lost') this.#ends.ended(id, mayBeCharged ? 'lost' : 'failed')
      if (!mayBeCharged) await this.#agent.approvals.giveBack(id)
      throw error
    }
  }

  /** If the model was removed after the call was sent, its answer is still delivered. */
  async #priceOf<O extends Operation>({ operation, call, claim }: Order<O>): Promise<PricedCall> {
    const { body } = call as { body?: unknown }
    try {
      return await priceCall(this.#agent.client, this.#agent.models, operation, body)
    } catch (error) {
      if (claim.kind !== 'lost' || !(error instanceof UnknownModel)) throw error
      return { what: `A call of ${shownModel(askedModel(call))}`, amountMicroUsd: null }
    }
  }
}

/** A call to make, or a call whose answer is wanted. */
interface Order<O extends Operation> {
  operation: O
  call: CallOf<O>
  hash: string
  claim: Claim
  asking: ToolAsking | null
  isOnlyAsked: boolean
}

interface Sending {
  rowId: string
  hash: string
  price: PricedCall
  /** What the user sees when they must decide on it. */
  about: AskedAbout
  callState: CallState
  /** Collects the payments that the wallet makes, or sends again, for it. */
  payments: CallPayment[]
  /** Whether any caller still waits for it. */
  isWanted(): boolean
}

interface PayingContext extends AgentContext {
  models: ModelRecords
  rows: PaidCallRows
  files: Files
  refills: Refills
}

/** At most two top-ups for one call; another call may have started one of them. */
const mostTopUps = 2

/** Sends what may be sent, and records each attempt before it. */
class PaidSends {
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
        if (hasPaid || paid.isResent) payments.push(paid)
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
