import type { ClientAnswer } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { principalOf } from '#client/credential.ts'
import { type MicroUsd, zeroUsd } from '#contract/money.ts'
import type { AnswerOf, CallOf, Operation } from '#contract/operation.ts'
import { ServiceError } from '#contract/service-error.ts'
import type { PaidOptions } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { allowCall } from '#wallet/allow-call.ts'
import type { PaidOrder } from '#wallet/pay.ts'
import { chargeShownMs } from './bounds.ts'
import { consentAfter409 } from './consent-after-409.ts'
import type { Core } from './core.ts'
import { isUnknownCharge, nobodyPays } from './explain.ts'
import type { ModelRecords } from './model-records.ts'
import type { PaidCallRow, PaidCallRows } from './paid-call-rows.ts'
import { payAfter402, wantsCredit } from './pay-after-402.ts'
import { type PricedCall, priceCall } from './price-call.ts'
import { recoverOnce } from './recover-once.ts'
import { requestHash } from './request-hash.ts'
import { shownCharge } from './shown-charge.ts'
import { withinTime } from './within-time.ts'

/** What a paid call came to. */
export type Bought<O extends Operation> =
  | { kind: 'bought'; rowId: string; price: PricedCall; answer: ClientAnswer<O> }
  /** An earlier, undelivered one of the same call. */
  | { kind: 'earlier'; row: PaidCallRow }

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
  /** Calls of this process under way; the same one joins instead of buying twice. */
  readonly #underWay = new Map<string, Promise<Bought<Operation>>>()

  constructor(core: Core, models: ModelRecords, rows: PaidCallRows) {
    this.#core = core
    this.#models = models
    this.#rows = rows
    this.#recover = recoverOnce(core)
  }

  /**
   * Runs to its end whoever stops waiting, because what is paid for is kept. Throws the client's, the service's and the
   * wallet's errors as they are.
   */
  buy<O extends Operation>(
    operation: O,
    call: CallOf<O>,
    { again = false }: PaidOptions,
    keep: Keep<O>,
  ): Promise<Bought<O>> {
    if (this.#core.pays === 'nothing') return Promise.reject(nobodyPays(this.#core))
    const { client } = this.#core
    const hash = requestHash(client.address.baseUrl, principalOf(client.credential), operation, call)
    const running = this.#underWay.get(hash)
    if (running && !again) return running.then(bought => this.#joined(bought))
    const buying = this.#buy(operation, call, { again, hash }, keep)
    this.#underWay.set(hash, buying)
    const forget = () => {
      if (this.#underWay.get(hash) === buying) this.#underWay.delete(hash)
    }
    buying.then(forget, forget)
    return buying
  }

  /** Somebody has the answer; the same call buys a new one from now on. */
  delivered(rowId: string): void {
    this.#rows.mark(rowId, 'delivered')
  }

  /** Ends when no call is under way any more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay.values())
  }

  #joined(bought: Bought<Operation>): Extract<Bought<Operation>, { kind: 'earlier' }> {
    return bought.kind === 'earlier' ? bought : { kind: 'earlier', row: this.#rows.get(bought.rowId) }
  }

  async #buy<O extends Operation>(
    operation: O,
    call: CallOf<O>,
    { again, hash }: { again: boolean; hash: string },
    keep: Keep<O>,
  ): Promise<Bought<O>> {
    const claim = this.#rows.claim(hash, operation.id, again)
    if (claim.kind === 'earlier') return { kind: 'earlier', row: claim.row }
    if (claim.kind === 'running') throw stillRunning()
    const id = claim.kind === 'lost' ? claim.row.id : claim.id
    const standing: Standing = {
      mayBeCharged: claim.kind === 'lost',
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
      const planned = { what: price.what, quotedMicroUsd, operation: operation.id }
      await allowCall(this.#core, planned, { requestHash: hash, by: id })
      if (!isAllowed) standing.allowedMicroUsd = price.amountMicroUsd
      const answer = await this.#send(operation, call, { rowId: id, hash, price, standing })
      // Where only the record fails, the call has been paid for: it must not be bought again by itself.
      standing.mayBeCharged = true
      keep(id, answer, price)
      return { kind: 'bought', rowId: id, price, answer }
    } catch (error) {
      const state = this.#rows.find(id)?.state
      // What is kept is kept, whatever failed after it.
      if (state === 'answered') throw error
      const mayBeCharged = standing.mayBeCharged || isLost(error)
      // A try that sent nothing leaves the time of the one that was lost.
      if (!mayBeCharged || state !== 'lost') this.#rows.mark(id, mayBeCharged ? 'lost' : 'failed')
      if (!mayBeCharged) await this.#core.approvals.giveBack(id)
      throw error
    }
  }

  /**
   * What can be known of a call whose answer was lost. Where the service keeps answers by their keys, a request that went
   * with one is sent again with it, from the same account; otherwise the service's records may show that it took nothing.
   * Throws where neither helps.
   */
  async #reconcile(row: PaidCallRow, standing: Standing): Promise<void> {
    const account = await this.#account()
    if (row.isKeyed && row.account === account && (await this.#models.takesKeys())) {
      standing.consents = row.consents
      standing.allowedMicroUsd = row.allowedMicroUsd
      return
    }
    const shown = await shownCharge(this.#core, row.account ?? account, row.createdAtMs)
    const shownAtMs = row.updatedAtMs + chargeShownMs
    if (shown !== 'none' || this.#core.clock.now() < shownAtMs) throw wasLost(shown, shownAtMs)
    standing.mayBeCharged = false
  }

  /** The wallet's address whose account at the service pays now; null with an API key. */
  async #account(): Promise<string | null> {
    return (await this.#core.wallet?.account()) ?? null
  }

  /** At most one payment of ours and one consent; each is followed by the same request once more. */
  async #send<O extends Operation>(
    operation: O,
    call: CallOf<O>,
    { rowId, hash, price, standing }: { rowId: string; hash: string; price: PricedCall; standing: Standing },
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
      this.#rows.sent(rowId, { consents, allowedMicroUsd, isKeyed, account: await this.#account() })
      try {
        return await withinTime(this.#core, signal =>
          this.#core.client.call(operation, request, { idempotencyKey, signal }),
        )
      } catch (error) {
        if (!(error instanceof ServiceError) || isLost(error)) throw error
        if (standing.mayBeCharged && !saysNothingWasDone(error)) throw error
        // The service has said that it did nothing.
        standing.mayBeCharged = false
        this.#rows.mark(rowId, 'planned')
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
      }
    }
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

/** What is known of one call while it is made. */
interface Standing {
  /** The service may have done and charged it. */
  mayBeCharged: boolean
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

/** Whether the service may have done and charged what was asked for. */
const isLost = (error: unknown): boolean =>
  error instanceof ClientError
    ? error.wasSent && error.kind !== 'redirected'
    : error instanceof ServiceError && isUnknownCharge(error)

const stillRunning = (): ToolFailure =>
  new ToolFailure({
    happened: 'The same call is under way in another process.',
    charged: zeroUsd,
    next: 'Make the same call again in a moment: it returns that one. `again: true` buys another.',
  })

const lostWords = {
  some: 'the records of the service show a charge since',
  none: 'the records of the service show no charge yet',
  unknown: 'nothing here can tell whether it was charged',
} as const

function wasLost(shown: keyof typeof lostWords, shownAtMs: number): ToolFailure {
  const isOpen = shown === 'none'
  return new ToolFailure({
    happened: `The same call was sent a moment ago and its answer was lost on the way; ${lostWords[shown]}.`,
    charged: 'unknown',
    ...(isOpen ? { retryAtMs: shownAtMs } : {}),
    next: isOpen
      ? 'The same call buys it anew then, if there is still none; `again: true` does so at once.'
      : 'Look at wallet_status; `again: true` buys it anew.',
  })
}

/** The answer of an earlier call as it was kept. */
export const keptAnswer = <O extends Operation>({ answer }: PaidCallRow): AnswerOf<O> =>
  JSON.parse(answer ?? 'null') as AnswerOf<O>
