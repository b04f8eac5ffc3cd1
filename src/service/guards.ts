import type { ServiceError } from '#contract/service-error.ts'
import { subjectOf } from './callers/principal.ts'
import { addressSubject } from './limits/address-subject.ts'
import type { BodyRoom, BodyStay } from './limits/body-room.ts'
import type { WalletSlots } from './limits/concurrency.ts'
import { limitHit } from './limits/limit-hit.ts'
import type { LimitLog } from './limits/limit-log.ts'
import type { LimitedRequest } from './limits/limit-rules.ts'
import type { Limiter } from './limits/limiter.ts'
import type { Caller, CountedFor, Demand, Grant, Guards, LimitedDemand } from './service.ts'

/** New wallets cost nothing, so what they do wrong counts for where they come from. */
const subject = ({ principal, address }: Caller): string =>
  principal && !(principal.kind === 'wallet' && principal.isNew)
    ? subjectOf(principal)
    : `address:${addressSubject(address)}`

/** Whom too many failures keep out: an `AbuseBlock`, alone or with those of other processes. */
interface FailureBlock {
  check(subject: string): void
  count(subject: string): boolean | Promise<boolean>
}

/** The limits room as the pipeline sees it. */
export class RequestGuards implements Guards {
  readonly #block: FailureBlock
  readonly #slots: WalletSlots
  readonly #bodies: BodyRoom
  readonly #limiter: Limiter
  readonly #log: LimitLog

  constructor(rooms: { block: FailureBlock; slots: WalletSlots; bodies: BodyRoom; limiter: Limiter; log: LimitLog }) {
    this.#block = rooms.block
    this.#slots = rooms.slots
    this.#bodies = rooms.bodies
    this.#limiter = rooms.limiter
    this.#log = rooms.log
  }

  admit(caller: Caller): void {
    this.#block.check(subject(caller))
  }

  failed(caller: Caller): void {
    // Not awaited: the answer waits for no network. It never rejects, and a block holds here at once.
    void this.#block.count(subject(caller))
  }

  refused({ principal }: Caller, demand: LimitedDemand, error: ServiceError): void {
    const hit = principal && limitHit(principal, demand, error)
    if (hit) this.#log.note(hit)
  }

  enter({ principal }: Caller): () => void {
    return principal?.kind === 'wallet' ? this.#slots.enter(principal.wallet) : () => undefined
  }

  bodyRoom(caller: Caller): BodyStay {
    return this.#bodies.open(subject(caller))
  }

  async take(caller: Caller, demand: Demand): Promise<Grant> {
    const admission = await this.#limiter.admit(limitedRequest(caller, demand), demand.tokens)
    // Whoever did not identify themselves shares a count with their neighbours; its figures are not theirs to know.
    const isShown = caller.principal !== null || demand.operation.charge === 'payment'
    return {
      headers: isShown ? admission.headers : {},
      correct: used => void admission.tokensUsed(used),
      giveBack: () => (isShown && admission.giveBack()) || {},
    }
  }

  limitsOf(caller: Caller, demand: LimitedDemand): Promise<Readonly<Record<string, string>>> {
    return this.#limiter.read(limitedRequest(caller, demand))
  }
}

const limitedRequest = (
  { principal, address }: Caller,
  { operation, model, countedFor = 'address' }: LimitedDemand,
): LimitedRequest => ({
  limit: operation.limit,
  model: model?.id ?? null,
  tier: model?.type === 'text' ? model.tier : null,
  principal,
  address: principal ? '' : countedName(countedFor, address),
})

function countedName(countedFor: CountedFor, address: string): string {
  if (typeof countedFor === 'object') return `payer:${countedFor.payer}`
  const subject = addressSubject(address)
  return countedFor === 'offer' ? `offer:${subject}` : subject
}
