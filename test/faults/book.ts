import { quotedCharacters } from './bounds.ts'

/** What a load does; each has a column in the table. */
export const loadKinds = [
  'chat',
  'stream',
  'cut stream',
  'wallet chat',
  'video queue',
  'retrieve',
  'top-up',
  'resend',
] as const
export type LoadKind = (typeof loadKinds)[number]

/** A payment that a wallet signed, and what the server acknowledged of it. */
export interface SignedTopUp {
  wallet: string
  nonce: string
  amountMicroUsd: bigint
  header: string
  /** Beyond this the chain does not take it any more. */
  validBeforeMs: number
  /** Refused after that time: it must never have landed. */
  expired: boolean
  acknowledged: null | { body: string; transaction: string; newBalanceMicroUsd: bigint }
}

export interface QueuedJob {
  requestId: string
  model: string
  key: string
  quoteMicroUsd: bigint
  /** The hash of the file, once it was delivered whole. */
  file: string | null
  completed: boolean
}

const noneOfEach = () => Object.fromEntries(loadKinds.map(kind => [kind, 0])) as Record<LoadKind, number>

export const sumOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, each) => sum + each, 0)

/** Everything that the server has said to us with a 200. It must all stand, whatever happens to the server. */
export class Book {
  /** By request id; the amount is null where the answer did not tell it. */
  readonly charges = new Map<string, bigint | null>()
  readonly jobs = new Map<string, QueuedJob>()
  readonly topUps: SignedTopUp[] = []
  readonly grants = new Map<string, bigint>()
  /** Requests that were answered with an error: they must not have cost anything. */
  readonly refused = new Map<string, number>()
  /** Streams whose end we did not see: they may have cost something, once. */
  readonly open = new Set<string>()
  /** Requests of which we know nothing at all: each may have cost something, once. */
  readonly unanswered = noneOfEach()
  readonly acknowledged = noneOfEach()
  /** Once the harness has let some fail; any other video has to be made. */
  videosMayFail = false
  /** Answers of 500 and above while the store was away. */
  storeErrors = 0
  /** Answers that no load expects, and contradictions between answers. */
  readonly surprises: string[] = []

  get total(): number {
    return sumOf(this.acknowledged)
  }

  count(kind: LoadKind): void {
    this.acknowledged[kind]++
  }

  charge(kind: LoadKind, requestId: string, costMicroUsd: bigint | null): void {
    if (this.charges.has(requestId)) this.surprises.push(`Two requests were both called ${requestId}.`)
    this.charges.set(requestId, costMicroUsd)
    this.count(kind)
  }

  surprise(kind: LoadKind, what: string): void {
    this.surprises.push(`${kind}: ${what.slice(0, quotedCharacters)}`)
  }
}
