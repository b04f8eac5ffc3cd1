import type { CallOptions, ClientAnswer } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { principalOf } from '#client/credential.ts'
import { type MicroUsd, zeroUsd } from '#contract/money.ts'
import type { CallOf, Operation } from '#contract/operation.ts'
import { ServiceError } from '#contract/service-error.ts'
import type { PaidOptions } from '#toolkit/tool-context.ts'
import { allowCall } from '#wallet/approvals/allow-call.ts'
import type { PaidOrder } from '#wallet/payment/pay.ts'
import { chargeShownMs, keysKeptMs } from '../bounds.ts'
import type { Core } from '../core.ts'
import { makeMedia, makesMedia } from '../media/made-media.ts'
import type { ModelRecords } from '../prices/model-records.ts'
import { priceCall } from '../prices/price-call.ts'
import type { PricedCall } from '../prices/priced-call.ts'
import { isUnknownCharge, nobodyPays } from '../words/explain.ts'
import { wantsCredit } from '../words/wants-credit.ts'
import { consentAfter409 } from './consent-after-409.ts'
import { isAnothersCall, showsNoCharge, wasLost, wasNeverSent } from './lost-call.ts'
import type { Claim, PaidCallRow, PaidCallRows } from './paid-call-rows.ts'
import { payAfter402 } from './pay-after-402.ts'
import { recoverOnce } from './recover-once.ts'
import { requestHash } from './request-hash.ts'
import { shownCharge } from './shown-charge.ts'
import type { WaitingCaller } from './waiting-caller.ts'
import { noAnswer, withinTime } from './within-time.ts'

/** What a paid call came to. */
export type Bought<O extends Operation> =
  | { kind: 'bought'; rowId: string; price: PricedCall; answer: ClientAnswer<O>; payments: readonly PaidOrder[] }
  /** An earlier, undelivered one of the same call. */
  | { kind: 'earlier'; row: PaidCallRow }
  /** The same call is under way in another process. */
  | { kind: 'elsewhere'; row: PaidCallRow }

/** A paid call under way, with the row that it is written down in. */
export interface Buying<O extends Operation> {
  rowId: string
  bought: Promise<Bought<O>>
}

/** Writes down what was bought in the transaction that keeps its answer. */
export type Keep<O extends Operation> = (rowId: string, answer: ClientAnswer<O>, price: PricedCall) => void

/** Two top-ups for one call at most, of which one may be somebody else's that came first. */
const mostTopUps = 2

/** The one path of everything that costs: price, person, record, call, 402, 409. Used by every tool. */
export class PaidCalls {
  readonly #core: Core
  readonly #models: ModelRecords
  readonly #rows: PaidCallRows
  readonly #recover: () => Promise<void>
  /** Calls of this process under way, by their rows; the same one joins instead of buying twice. */
  readonly #underWay = new Map<string, { hash: string; bought: Promise<Bought<Operation>> }>()
  /** What became of calls where it could not be written; until it is, their rows say that this process is at them. */
  readonly #unwritten = new Map<string, 'lost' | 'failed'>()
  /** Who waits for those, by their rows; nobody for what goes on by itself. */
  readonly #callers = new Map<string, WaitingCaller[]>()
  /** The rows of those whose answer is awaited. */
  readonly #sent = new Set<string>()
  readonly #closing = new AbortController()

  constructor(core: Core, models: ModelRecords, rows: PaidCallRows) {
    this.#core = core
    this.#models = models
    this.#rows = rows
    this.#recover = recoverOnce(core)
  }

  /**
   * Runs to its end once it is sent, whoever stops waiting, because what is paid for is kept; before that, what every caller
   * has cancelled is neither sent nor paid. Throws the client's, the service's and the wallet's errors as they are.
   */
  buy<O extends Operation>(
    operation: O,
    call: CallOf<O>,
    { again = false }: PaidOptions,
    keep: Keep<O>,
    caller?: WaitingCaller,
  ): Buying<O> {
    if (this.#core.pays === 'nothing') throw nobodyPays(this.#core)
    const hash = this.#hashOf(operation, call)
    const running = again ? undefined : [...this.#underWay].findLast(([, one]) => one.hash === hash)
    if (running) {
      this.#waits(running[0], caller)
      return { rowId: running[0], bought: this.#joined(...running) }
    }
    this.#writeUnwritten()
    const claim = this.#rows.claim(hash, operation.id, again)
    return this.#begin({ operation, call, hash, claim, isOnlyAsked: false }, keep, caller)
  }

  /** Who joins without a way to cancel wants it to the end. */
  #waits(rowId: string, caller: WaitingCaller | undefined): void {
    const callers = this.#callers.get(rowId)
    if (!caller) this.#callers.delete(rowId)
    else callers?.push(caller)
  }

  #isWanted(rowId: string): boolean {
    return this.#callers.get(rowId)?.some(caller => caller.wants) ?? true
  }

  /** A call of this process under way, for whoever waits for its row. */
  underWay(rowId: string): Promise<unknown> | null {
    return this.#underWay.get(rowId)?.bought ?? null
  }

  /**
   * Asks what became of a call that was sent, under its key where it has one. Nothing is bought anew, paid or consented to:
   * a service that did nothing ends it. Null where another process is at it.
   */
  resume<O extends Operation>(rowId: string, operation: O, call: CallOf<O>, keep: Keep<O>): Buying<O> | null {
    const hash = this.#hashOf(operation, call)
    if (this.#rows.find(rowId)?.requestHash !== hash) throw isAnothersCall()
    this.#writeUnwritten()
    const claim = this.#rows.claimRow(rowId)
    if (claim?.kind === 'running') return null
    if (claim && claim.kind !== 'mine') return this.#begin({ operation, call, hash, claim, isOnlyAsked: true }, keep)
    this.#rows.mark(rowId, 'failed')
    throw wasNeverSent()
  }

  /** Somebody has the answer; the same call buys a new one from now on. */
  delivered(rowId: string): void {
    this.#rows.mark(rowId, 'delivered')
  }

  /** Ends when no call is under way any more. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#underWay.values()].map(({ bought }) => bought))
  }

  /**
   * Gives up every answer that is awaited and sends nothing any more. Ends when the rows of those calls say that theirs are
   * lost, so that the same call asks for them.
   */
  async giveUp(): Promise<void> {
    this.#closing.abort(noAnswer('This program ended before the answer came.'))
    await Promise.allSettled([...this.#sent].map(rowId => this.underWay(rowId)))
  }

  #hashOf<O extends Operation>(operation: O, call: CallOf<O>): string {
    const { address, credential } = this.#core.client
    return requestHash(address.baseUrl, principalOf(credential), operation, call)
  }

  async #joined(rowId: string, { bought }: { bought: Promise<unknown> }): Promise<Bought<never>> {
    await bought
    return { kind: 'earlier', row: this.#rows.get(rowId) }
  }

  #begin<O extends Operation>(order: Order<O>, keep: Keep<O>, caller?: WaitingCaller): Buying<O> {
    const { claim, hash } = order
    if (claim.kind === 'earlier' || claim.kind === 'running') {
      const kind = claim.kind === 'earlier' ? 'earlier' : 'elsewhere'
      return { rowId: claim.row.id, bought: Promise.resolve({ kind, row: claim.row }) }
    }
    const rowId = claim.kind === 'lost' ? claim.row.id : claim.id
    if (caller) this.#callers.set(rowId, [caller])
    const bought = this.#buy(order, rowId, keep)
    this.#underWay.set(rowId, { hash, bought })
    const forget = () => {
      this.#underWay.delete(rowId)
      this.#callers.delete(rowId)
    }
    bought.then(forget, forget)
    return { rowId, bought }
  }

  async #buy<O extends Operation>(order: Order<O>, id: string, keep: Keep<O>): Promise<Bought<O>> {
    const { operation, call, hash, claim, isOnlyAsked } = order
    const standing: Standing = {
      isOnlyAsked,
      mayBeCharged: claim.kind === 'lost',
      mayBeSecond: false,
      wentWithoutKey: claim.kind === 'lost' && !claim.row.isKeyed,
      consents: null,
      allowedMicroUsd: null,
    }
    try {
      await this.#recover()
      if (claim.kind === 'lost') await this.#reconcile(claim.row, standing)
      const price = await priceCall(this.#core.client, this.#models, operation, (call as { body?: unknown }).body)
      // What is sent again under its key was allowed up to this price: nobody is asked twice for one purchase.
      const isAllowed = isAtMost(price.amountMicroUsd, standing.allowedMicroUsd)
      const quotedMicroUsd = isAllowed ? zeroUsd : price.amountMicroUsd
      const { mayBeSecond } = standing
      const planned = { what: price.what, quotedMicroUsd, operation: operation.id, mayBeSecond }
      await allowCall(this.#core, planned, { requestHash: hash, by: id })
      // By a person's word it is a new call now, whatever becomes of the first one.
      if (mayBeSecond) standing.mayBeCharged = false
      if (!isAllowed) standing.allowedMicroUsd = price.amountMicroUsd
      const payments: PaidOrder[] = []
      const answer = await this.#send(operation, call, { rowId: id, hash, price, standing, payments })
      // Where only the record fails, the call has been paid for: it must not be bought again by itself.
      standing.mayBeCharged = true
      keep(id, answer, price)
      return { kind: 'bought', rowId: id, price, answer, payments }
    } catch (error) {
      const state = this.#rows.find(id)?.state
      // What is kept is kept, whatever failed after it.
      if (state === 'answered') throw error
      const mayBeCharged = standing.mayBeCharged || isLost(error)
      // A try that sent nothing leaves the time of the one that was lost.
      if (!mayBeCharged || state !== 'lost') this.#ended(id, mayBeCharged ? 'lost' : 'failed')
      if (!mayBeCharged) await this.#core.approvals.giveBack(id)
      throw error
    }
  }

  #ended(id: string, state: 'lost' | 'failed'): void {
    this.#unwritten.set(id, state)
    try {
      this.#writeUnwritten()
    } catch {
      // As on a full disk: the next call writes it, and this one says what it came to.
    }
  }

  #writeUnwritten(): void {
    for (const [id, state] of this.#unwritten) {
      this.#rows.mark(id, state)
      this.#unwritten.delete(id)
    }
  }

  /**
   * What can be known of a call whose answer was lost. Where the service keeps answers by their keys, a request that went
   * with one is sent again with it, from the same account; otherwise a person decides, once the service's records have had
   * time to show a charge. Throws where they do, and before.
   */
  async #reconcile(row: PaidCallRow, standing: Standing): Promise<void> {
    const account = await this.#account()
    const nowMs = this.#core.clock.now()
    const isKept = row.isKeyed && nowMs < row.createdAtMs + keysKeptMs
    if (isKept && row.account === account && (await this.#models.takesKeys())) {
      standing.consents = row.consents
      standing.allowedMicroUsd = row.allowedMicroUsd
      return
    }
    const shown = await shownCharge(this.#core, row.account ?? account, row.createdAtMs)
    const shownAtMs = row.updatedAtMs + chargeShownMs
    if (shown.kind !== 'none' || nowMs < shownAtMs) throw wasLost(shown, shownAtMs)
    if (standing.isOnlyAsked) throw showsNoCharge()
    // A service may work on for longer, and charge when it is done.
    standing.mayBeSecond = true
  }

  /** The wallet's address whose account at the service pays now; null with an API key. */
  async #account(): Promise<string | null> {
    return (await this.#core.wallet?.account()) ?? null
  }

  /** At most one payment of ours and one consent; each is followed by the same request once more. */
  async #send<O extends Operation>(
    operation: O,
    call: CallOf<O>,
    { rowId, hash, price, standing, payments }: Sending,
  ): Promise<ClientAnswer<O>> {
    const idempotencyKey = (await this.#takesKeys(standing)) ? rowId : undefined
    const asked = { operation: operation.id, requestHash: hash }
    let topUps = 0
    let hasPaid = false
    let hasConsent = standing.consents !== null
    for (;;) {
      const { consents, allowedMicroUsd } = standing
      const request = withConsents(call, consents)
      const isKeyed = idempotencyKey !== undefined
      const account = await this.#account()
      if (this.#closing.signal.aborted) throw isClosing()
      if (!this.#isWanted(rowId)) throw isUnwanted()
      this.#rows.sent(rowId, { consents, allowedMicroUsd, isKeyed, account })
      const sentAtMs = this.#core.clock.now()
      this.#sent.add(rowId)
      try {
        const answer = await withinTime(this.#core, this.#closing.signal, signal =>
          this.#ask(operation, request, rowId, { idempotencyKey, signal }),
        )
        this.#core.refills.noticed(answer.headers, sentAtMs)
        return answer
      } catch (error) {
        if (!(error instanceof ServiceError) || isLost(error)) throw error
        if (standing.mayBeCharged && !saysNothingWasDone(error)) throw error
        // The service has said that it did nothing.
        standing.mayBeCharged = false
        this.#rows.mark(rowId, 'planned')
        if (standing.isOnlyAsked || !this.#isWanted(rowId)) throw error
        const consent = hasConsent ? null : await consentAfter409(this.#core, error, asked)
        if (consent) {
          hasConsent = true
          standing.consents = JSON.stringify(consent)
          continue
        }
        const paid: PaidOrder | null =
          hasPaid || topUps === mostTopUps ? null : await payAfter402(this.#core, error, price, asked)
        if (!paid) throw error
        topUps++
        hasPaid = !paid.isEarlier
        if (hasPaid) payments.push(paid)
      } finally {
        this.#sent.delete(rowId)
      }
    }
  }

  /** What is made of pictures or sound is saved before it counts as answered. */
  #ask<O extends Operation>(
    operation: O,
    call: CallOf<O>,
    callId: string,
    options: CallOptions,
  ): Promise<ClientAnswer<O>> {
    const { client, files } = this.#core
    return makesMedia(operation)
      ? makeMedia({ client, files, callId }, operation, call, options)
      : client.call(operation, call, options)
  }

  /**
   * A new call may go without a key where nobody can say whether it is taken; one that is repeated under its key may not.
   * What went without one once has none for ever, because the service would take it for a new call.
   */
  async #takesKeys({ mayBeCharged, wentWithoutKey }: Standing): Promise<boolean> {
    if (wentWithoutKey) return false
    const taken = this.#models.takesKeys()
    return mayBeCharged ? taken : taken.catch(() => false)
  }
}

/** One call to be made, or whose answer is to be had. */
interface Order<O extends Operation> {
  operation: O
  call: CallOf<O>
  hash: string
  claim: Claim
  isOnlyAsked: boolean
}

interface Sending {
  rowId: string
  hash: string
  price: PricedCall
  standing: Standing
  /** Takes the payments that the wallet makes for it. */
  payments: PaidOrder[]
}

/** What is known of one call while it is made. */
interface Standing {
  /** Only what became of it is wanted: nothing is paid for it or agreed to. */
  isOnlyAsked: boolean
  /** The service may have done and charged it. */
  mayBeCharged: boolean
  /** To send it again may be to pay for it twice, so a person has to agree. */
  mayBeSecond: boolean
  /** It was sent before, and no key with it. */
  wentWithoutKey: boolean
  /** JSON of the members that go along by a person's word. */
  consents: string | null
  /** The price up to which it needs nobody's word any more. */
  allowedMicroUsd: MicroUsd | null
}

const isAtMost = (price: MicroUsd | null, allowed: MicroUsd | null): boolean =>
  price !== null && allowed !== null && price <= allowed

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

/** Whether the service may have done and charged what was asked for. */
const isLost = (error: unknown): boolean =>
  error instanceof ClientError
    ? error.wasSent && error.kind !== 'redirected'
    : error instanceof ServiceError && isUnknownCharge(error)
