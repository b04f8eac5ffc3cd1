import type { Caller } from './callers.ts'
import type { Order } from './orders.ts'

/** A payment that a payer signed, and the service's answer to it. */
export interface SentPayment {
  header: string
  order: Order
  /** The first 200, byte for byte; null before. */
  acknowledged: { body: string; amount: bigint; newBalance: bigint } | null
}

/** A request whose answer has come. */
export interface AnsweredRequest {
  account: string
  status: number
  /** What the answer said that it cost; null where it said nothing of it. */
  cost: bigint | null
  /** False where the engine has delivered nothing for it, neither content nor a count. */
  delivered: boolean
  /** True where the caller left before the end. */
  left: boolean
}

export interface QueuedJob {
  account: string
  model: string
  /** The file was delivered once. */
  delivered: boolean
}

/** A request with an `Idempotency-Key`, which its caller may send again and again. */
export interface KeyedRequest {
  key: string
  caller: Caller
  path: string
  body: object
  kind: 'whole' | 'stream' | 'video'
  /** By the true time. */
  sentAtMs: number
  /** The first whole 200, byte for byte. */
  answer: string | null
  cost: bigint | null
}

/** What the service has told its callers. It must all stand, whatever happens to the service. */
export class CallRecords {
  readonly requests = new Map<string, AnsweredRequest>()
  readonly jobs = new Map<string, QueuedJob>()
  readonly payments: SentPayment[] = []
  readonly keyed: KeyedRequest[] = []
  /** Requests of which a commit was made to fail: an error says nothing about their money. */
  readonly excused = new Set<string>()
  /** Calls that are under way, by their names: whose, where and since when. */
  readonly openCalls = new Map<string, string>()
}
