import type { PrivateKeyAccount } from 'viem/accounts'
import { commitMs, lostMs, quotedCharacters } from './bounds.ts'

/** The operations of a load; each has a column in the table. */
export const loadKinds = [
  'chat',
  'stream',
  'cut stream',
  'wallet chat',
  'keyed chat',
  'keyed stream',
  'keyed repeat',
  'budget chat',
  'staking chat',
  'video queue',
  'retrieve',
  'top-up',
  'solana top-up',
  'resend',
] as const
export type LoadKind = (typeof loadKinds)[number]

/** A payment that a wallet signed, and what the server acknowledged of it. */
export interface SignedTopUp {
  kind: 'top-up' | 'solana top-up'
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

/** A stream that broke with its server, and what the delivered text says about its charge. */
export interface BrokenStream {
  /** Tokens that some checkpoint has to contain: they were delivered early enough before the break. */
  leastTokens: number
  /** Tokens that the engine can have made. */
  mostTokens: number
  /** The prompt has fewer tokens than its body has bytes. */
  bodyBytes: number
}

/** A hold that a killed process left, as the store had it before the next start. */
export interface DeadHold {
  request: string
  heldMicroUsd: bigint
  /** What the last checkpoint says; null without one. */
  owedMicroUsd: bigint | null
  /** What its request had been charged before the kill. */
  chargedMicroUsd: bigint
}

/** A call under an `Idempotency-Key`: sent until it is answered, and then again. */
export interface KeyedCall {
  /** What stands in the header. */
  key: string
  kind: 'keyed chat' | 'keyed stream'
  body: object
  /** Requests with it that were sent, and those without an answer so far. */
  sent: number
  underWay: number
  /** Whether a request with it was sent whose answer did not come whole: its work may go on, or have been charged. */
  wasCut: boolean
  acknowledged: null | { body: string; costMicroUsd: bigint }
}

/** A key that may spend only so much, and what is known of what it has spent. */
export interface BudgetKey {
  key: string
  keyId: string
  period: 'epoch' | 'lifetime'
  limitMicroUsd: bigint
  /** Acknowledged. */
  spentMicroUsd: bigint
  /** Requests with it that were sent, and those without an answer so far. */
  sent: number
  underWay: number
  /** Requests that may have cost something, or may hold it still. */
  unknown: number
  isUsedUp: boolean
}

/** A wallet whose stake gives it so much each day, and which has USD as well. */
export interface Staker {
  wallet: PrivateKeyAccount
  dailyMicroUsd: bigint
  /** Its first credit in USD; before that it is not let in. */
  topUp: SignedTopUp
  isBusy: boolean
  /** When requests were sent that may have cost something, or may hold it still. */
  unknownAtMs: number[]
}

const noneOfEach = () => Object.fromEntries(loadKinds.map(kind => [kind, 0])) as Record<LoadKind, number>

export const sumOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, each) => sum + each, 0)

/** Everything that the server has said to us with a 200. It must all stand, whatever happens to the server. */
export class LoadRecords {
  /** By request id; the amount is null where the answer did not tell it. */
  readonly charges = new Map<string, bigint | null>()
  readonly jobs = new Map<string, QueuedJob>()
  readonly topUps: SignedTopUp[] = []
  readonly grants = new Map<string, bigint>()
  /** Of the customer whose calls all carry a key. */
  keyedCaller: { keyId: string; account: string } | null = null
  readonly keyed: KeyedCall[] = []
  readonly budgetKeys: BudgetKey[] = []
  /** The key with a budget that each of these requests was charged to. */
  readonly budgeted = new Map<string, string>()
  /** Calls that a budget did not let through. */
  overBudget = 0
  readonly stakers: Staker[] = []
  /** By request, what staking credit paid of it. */
  readonly staking = new Map<string, bigint>()
  /** Requests that were answered with an error: they must not have cost anything. */
  readonly refused = new Map<string, number>()
  /** Streams whose end we did not see: they may have cost something, once. */
  readonly open = new Set<string>()
  /** By request. A stream that its service ended with an error is only in `open`. */
  readonly broken = new Map<string, BrokenStream>()
  /** By id of the hold. */
  readonly deadHolds = new Map<string, DeadHold>()
  /** When streams that are being read brought their first piece. */
  readonly reading = new Set<{ sinceMs: number }>()
  /** Whole chats that were slow, or have no answer yet. */
  readonly #chats = new Set<{ sinceMs: number; endMs: number }>()
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

  /** Returns what to call when it has ended. */
  beginChat(): () => void {
    const chat = { sinceMs: Date.now(), endMs: Number.POSITIVE_INFINITY }
    this.#chats.add(chat)
    return () => {
      chat.endMs = Date.now()
      if (chat.endMs - chat.sinceMs < commitMs) this.#chats.delete(chat)
    }
  }

  /** How long the slowest of the chats around this time had taken by then. */
  slowestChat(atMs: number): { slowestMs: number } {
    const around = [...this.#chats].filter(({ sinceMs, endMs }) => sinceMs < atMs && endMs > atMs - lostMs)
    return { slowestMs: Math.max(0, ...around.map(({ sinceMs, endMs }) => Math.min(endMs, atMs) - sinceMs)) }
  }

  surprise(kind: LoadKind, what: string): void {
    this.surprises.push(`${kind}: ${what.slice(0, quotedCharacters)}`)
  }
}
