import type { ClientAnswer } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { principalOf } from '#client/credential.ts'
import { zeroUsd } from '#contract/money.ts'
import type { AnswerOf, CallOf, Operation } from '#contract/operation.ts'
import { ServiceError } from '#contract/service-error.ts'
import type { PaidOptions } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { allowCall } from '#wallet/allow-call.ts'
import type { PaidOrder } from '#wallet/pay.ts'
import { consentAfter409 } from './consent-after-409.ts'
import type { Core } from './core.ts'
import { isUnknownCharge, nobodyPays } from './explain.ts'
import type { ModelRecords } from './model-records.ts'
import type { PaidCallRow, PaidCallRows } from './paid-call-rows.ts'
import { payAfter402 } from './pay-after-402.ts'
import { type PricedCall, priceCall } from './price-call.ts'
import { recoverOnce } from './recover-once.ts'
import { requestHash } from './request-hash.ts'

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
    if (claim.kind === 'lost') throw wasLost()
    let isBought = false
    try {
      await this.#recover()
      const price = await priceCall(this.#core.client, this.#models, operation, (call as { body?: unknown }).body)
      await allowCall(
        this.#core,
        { what: price.what, quotedMicroUsd: price.amountMicroUsd },
        { requestHash: hash, by: claim.id },
      )
      const answer = await this.#send(operation, call, { rowId: claim.id, hash, price })
      isBought = true
      keep(claim.id, answer, price)
      return { kind: 'bought', rowId: claim.id, price, answer }
    } catch (error) {
      // Where only the record failed, the call has been paid for: it must not be bought again by itself.
      const mayBeCharged = isBought || isLost(error)
      this.#rows.mark(claim.id, mayBeCharged ? 'lost' : 'failed')
      if (!mayBeCharged) await this.#core.approvals.giveBack(claim.id)
      throw error
    }
  }

  /** At most one payment of ours and one consent; each is followed by the same request once more. */
  async #send<O extends Operation>(
    operation: O,
    call: CallOf<O>,
    { rowId, hash, price }: { rowId: string; hash: string; price: PricedCall },
  ): Promise<ClientAnswer<O>> {
    let request = withoutConsents(call)
    let topUps = 0
    let hasPaid = false
    let hasConsent = false
    for (;;) {
      this.#rows.mark(rowId, 'sent')
      try {
        return await this.#core.client.call(operation, request)
      } catch (error) {
        if (!(error instanceof ServiceError) || isLost(error)) throw error
        // The service has said that it did nothing.
        this.#rows.mark(rowId, 'planned')
        const consent = hasConsent ? null : await consentAfter409(this.#core, error, hash)
        if (consent) {
          hasConsent = true
          request = { ...request, body: { ...(request.body as object), ...consent } as typeof request.body }
          continue
        }
        const paid: PaidOrder | null =
          hasPaid || topUps === mostTopUps
            ? null
            : await payAfter402(this.#core, error, price.amountMicroUsd, price.what)
        if (!paid) throw error
        topUps++
        hasPaid = !paid.isEarlier
      }
    }
  }
}

/** A person's word comes from a person: whatever else stands there is not sent. */
function withoutConsents<O extends Operation>(call: CallOf<O>): CallOf<O> {
  const { body } = call as { body?: unknown }
  if (typeof body !== 'object' || body === null || !('consents' in body)) return call
  const { consents: _, ...rest } = body
  return { ...call, body: rest as typeof call.body }
}

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

const wasLost = (): ToolFailure =>
  new ToolFailure({
    happened: 'The same call was sent a moment ago and its answer was lost on the way.',
    charged: 'unknown',
    next: 'Look at wallet_status; `again: true` buys it anew.',
  })

/** The answer of an earlier call as it was kept. */
export const keptAnswer = <O extends Operation>({ answer }: PaidCallRow): AnswerOf<O> =>
  JSON.parse(answer ?? 'null') as AnswerOf<O>
