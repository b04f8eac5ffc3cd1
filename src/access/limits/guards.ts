import { isIPv6 } from 'node:net'
import type { ServiceError } from '#contract/errors/service-error.ts'
import type { CountedFor } from '#contract/limits.ts'
import { hasAccount, type Principal, subjectOf } from '#ledger/accounts/principal.ts'
import type { BodyRoom, BodyStay, WalletSlots } from './concurrency.ts'
import { type LimitLog, limitHit } from './limit-log.ts'
import type { LimitedDemand, LimitedRequest } from './limit-rules.ts'
import type { Limiter } from './limiter.ts'

/** The subject against which failures count. */
const subject = ({ principal, address }: Caller): string =>
  hasAccount(principal) ? subjectOf(principal) : `address:${addressSubject(address)}`

/** The abuse block, of this process alone or shared with others. */
interface FailureBlock {
  check(subject: string): void
  count(subject: string): boolean | Promise<boolean>
}

/** Applies every limit to a request; used by the pipeline. */
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
    // Not awaited, so that the answer does not wait for the network. It never rejects, and a block takes effect here at
    // once.
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
    // Unidentified callers share a count with their neighbors, so its figures are not shown to them.
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
  address: hasAccount(principal) ? '' : countedName(countedFor, address),
})

function countedName(countedFor: CountedFor, address: string): string {
  if (typeof countedFor === 'object') return `payer:${countedFor.payer}`
  const subject = addressSubject(address)
  return countedFor === 'offer' ? `offer:${subject}` : subject
}

export interface Guards {
  /** Throws `tooManyFailures` while this caller is blocked (brief §7.3). */
  admit(caller: Caller): void
  failed(caller: Caller): void
  /** Logs a request of an identified caller that was refused for a limit. */
  refused(caller: Caller, demand: LimitedDemand, error: ServiceError): void
  /** Throws `tooManyConcurrent`; the returned function frees the slot. */
  enter(caller: Caller): () => void
  /** Counts the bytes of the caller's body until the request ends. */
  bodyRoom(caller: Caller): BodyStay
  /** Counts the request in every dimension of the caller, or in none. Throws `rateLimitExceeded` with its headers. */
  take(caller: Caller, demand: Demand): Promise<Grant>
  /** Returns the limit headers of a request that was not counted. */
  limitsOf(caller: Caller, demand: LimitedDemand): Promise<Readonly<Record<string, string>>>
}

/**
 * The principal if there is one, else the address: an unidentified caller's failures never count against a wallet or a
 * key.
 */
interface Caller {
  principal: Principal | null
  address: string
}

export interface Demand extends LimitedDemand {
  /** Reserved at the start, corrected at the end. */
  tokens: number
}

export interface Grant {
  headers: Readonly<Record<string, string>>
  correct(tokens: number): void
  /** For a request that is refused later: gives back its tokens, unless the used ones were reported. */
  giveBack(): Readonly<Record<string, string>>
}

/** A value that is not an address is still counted, by its first characters. */
const unknownCharacters = 64

/**
 * Returns the subject by which unidentified callers are counted: an IPv4 address, or the /64 of an IPv6 one, because
 * one household or machine has the whole /64.
 */
export function addressSubject(address: string): string {
  const [plain = ''] = address.split('%')
  if (!isIPv6(plain)) return plain.slice(0, unknownCharacters)
  const groups = groupsOf(plain)
  const [, , , , , marker, high = 0, low = 0] = groups
  const isMapped = marker === 0xffff && groups.slice(0, 5).every(group => group === 0)
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  return `${groups
    .slice(0, 4)
    .map(group => group.toString(16))
    .join(':')}::/64`
}

/** Returns the eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  // The URL parser writes an embedded IPv4 address as two groups and all letters in lower case.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length
  return [...before, ...new Array<string>(zeros).fill('0'), ...after].map(group => Number.parseInt(group, 16))
}
