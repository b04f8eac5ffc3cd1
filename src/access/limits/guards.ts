import type { ServiceError } from '#contract/errors/service-error.ts'
import type { CountedFor } from '#contract/limits.ts'
import { type Principal, subjectOf } from '#ledger/accounts/principal.ts'
import { addressSubject } from './address-subject.ts'
import type { BodyRoom, BodyStay } from './body-room.ts'
import type { WalletSlots } from './concurrency.ts'
import { limitHit } from './limit-hit.ts'
import type { LimitLog } from './limit-log.ts'
import type { LimitedDemand, LimitedRequest } from './limit-rules.ts'
import type { Limiter } from './limiter.ts'

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
  tier: model?.tier ?? null,
  principal,
  address: principal ? '' : countedName(countedFor, address),
})

function countedName(countedFor: CountedFor, address: string): string {
  if (typeof countedFor === 'object') return `payer:${countedFor.payer}`
  const subject = addressSubject(address)
  return countedFor === 'offer' ? `offer:${subject}` : subject
}

export interface Guards {
  /** Throws `tooManyFailures` while this caller is blocked (brief §7.3). */
  admit(caller: Caller): void
  /** Counts an answer without success towards the block. */
  failed(caller: Caller): void
  /** Logs the request of an identified caller where it was refused for a limit. */
  refused(caller: Caller, demand: LimitedDemand, error: ServiceError): void
  /** Throws `tooManyConcurrent`; the result ends the stay. */
  enter(caller: Caller): () => void
  /** Where the bytes of the caller's body are counted until the request has ended. */
  bodyRoom(caller: Caller): BodyStay
  /** All or nothing over the caller's dimensions. Throws `rateLimitExceeded` with its headers. */
  take(caller: Caller, demand: Demand): Promise<Grant>
  /** The limit headers of a request that nothing counted. */
  limitsOf(caller: Caller, demand: LimitedDemand): Promise<Readonly<Record<string, string>>>
}

/** The principal where there is one, else the address: a stranger's failures never count against a wallet or a key. */
interface Caller {
  principal: Principal | null
  address: string
}

export interface Demand extends LimitedDemand {
  /** Reserved before, corrected after. */
  tokens: number
}

export interface Grant {
  headers: Readonly<Record<string, string>>
  correct(tokens: number): void
  /** For a request that is refused after all: its tokens are given back, unless the used ones were told. */
  giveBack(): Readonly<Record<string, string>>
}
