import type { MicroUsd } from '#contract/money.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import type { AnswerOf, CallOf, Operation } from '#contract/operations/operation.ts'
import type { FormFile } from './values/form-file.ts'

/**
 * Everything that a tool can do. Every effect obeys the wallet's policy, tops up on 402, respects limits and keeps its
 * own records, the same for every tool. Effects throw `ApprovalRequired` or `ToolFailure`, which tools do not catch.
 */
export interface ToolContext {
  /** Calls the service; `answer` is the body of the operation's 200. Throws `ResultInstead` if it becomes a job. */
  call<O extends Operation>(operation: O, call: CallOf<O>, options?: PaidOptions): Promise<Answered<O>>
  /** Calls an operation that queues work, which becomes a job that survives a restart. */
  start<O extends Operation>(operation: O, call: CallOf<O>, options?: PaidOptions): Promise<Started>
  /** Calls an operation that makes images or audio, which are saved in the output folder. */
  make<O extends Operation>(operation: O, call: CallOf<O>, options?: PaidOptions): Promise<Made>
  jobs: JobStore
  files: FileStore
  wallet: WalletClient
  limits(): Promise<LimitsView>
  /**
   * Returns what a call of a tool would cost. Buys nothing and does not ask the user. Throws whatever would prevent the
   * call.
   */
  estimate(tool: string, given: unknown): Promise<Estimate>
  /** Returns every model of the service, at most a few minutes old. */
  models(): Promise<readonly ModelRecord[]>
  /** The images and audio that the caller shows inline; absent for a program, which reads the files. */
  shows?: MediaBounds | undefined
  /** Reports the progress of a wait to the user. Cheap; a report may be dropped. */
  report(progress: { message: string; done?: number; total?: number }): void
  signal: AbortSignal
  /** Unix time in milliseconds. */
  now(): number
}

/** Options of a paid call. They never raise a limit, approve or consent. */
export interface PaidOptions {
  /**
   * Pays for a new call. Without it, a repeat within 10 minutes of an unfinished or undelivered call returns that call's
   * result.
   */
  again?: boolean | undefined
}

/** What every paid result reports. Null if unknown. */
export interface Paid {
  /** The amount charged for this call now: zero if an earlier call had paid for it. */
  chargedMicroUsd: MicroUsd | null
  creditLeftMicroUsd: MicroUsd | null
  /** What the wallet may still pay today under its policy; null if an API key pays. */
  budgetLeftMicroUsd: MicroUsd | null
  /** The result was paid for by an earlier call that was not delivered. */
  isEarlierCall?: boolean
  /** What is wrong with the charge's receipt, in one sentence; absent if no problem is known. */
  receiptProblem?: string
  /** What the wallet did in addition to the call, in our own sentences. */
  notes?: readonly string[]
}

export interface Answered<O extends Operation> {
  answer: AnswerOf<O>
  paid: Paid
}

export interface Started {
  job: JobView
  paid: Paid
}

export interface Made {
  /** One for each image or recording, in the order of the answer. */
  files: SavedFile[]
  /** The model that made it, as the service reports; null if it does not. */
  model: string | null
  /** The service's content policy blurred an image. */
  isBlurred: boolean
  paid: Paid
}

export interface JobStore {
  /**
   * Waits until the job ends or `timeoutMs` has passed, saves its result, and reports progress meanwhile. Free. For a
   * call that became a job, it throws `ResultInstead` with that call's result.
   */
  wait(jobId: string, timeoutMs: number): Promise<JobView>
  /** Newest first. */
  list(limit: number): Promise<JobView[]>
  /**
   * Deletes a finished job's result at the service; the saved file stays. Throws `ToolFailure` for a job that is still
   * running.
   */
  delete(jobId: string): Promise<JobView>
}

export interface JobView {
  jobId: string
  /** `call`: a call whose answer took longer than its caller could wait. */
  kind: 'video' | 'audio' | 'call'
  model: string
  state: 'running' | 'completed' | 'failed' | 'deleted'
  startedAtMs: number
  /** How long a job of this model usually takes; null if unknown so far. */
  typicalMs: number | null
  /** The charge of a call, once it is known. */
  priceMicroUsd: MicroUsd | null
  refunded: boolean
  /** Present once it is completed and saved. */
  file: SavedFile | null
  /** Why it failed, in one sentence. */
  failure: string | null
}

export interface SavedFile {
  /** Absolute, inside the output folder. */
  path: string
  mimeType: string
  bytes: number
}

/** A recorded saved file; it may have been deleted since. */
export interface KeptFile extends SavedFile {
  id: string
  /** The model that made it; null if it was not made by a model, or the model is unknown. */
  model: string | null
  /** The tool that saved it; null if unknown. */
  tool: string | null
  savedAtMs: number
}

export interface FileStore {
  /**
   * Returns a file in an allowed folder as a data URL; an http(s) or data URL is returned unchanged. Checks folder,
   * type and size.
   */
  asMediaUrl(source: string, kind: MediaKind): Promise<string>
  /** Returns a file in an allowed folder for a form. Checks folder, type and size; accepts no URL. */
  asFormFile(path: string, kind: MediaKind | 'document'): Promise<FormFile>
  /** Saves a long text in the output folder instead of showing it; `name` describes its source in a word or two. */
  saveText(text: string, name: string, mimeType?: 'text/plain' | 'application/json'): Promise<SavedFile>
  /** Returns a saved image or video as one small image, or a sentence that says why there is none. Never throws. */
  preview(file: SavedFile, within: Pick<MediaBounds, 'imagePixels' | 'imageBytes'>): Promise<Shown>
  /** Returns a saved recording in full; null if it cannot be read. Never throws. */
  recording(file: SavedFile): Promise<Shown | null>
  /** Returns the most recently saved files, newest first. */
  saved(limit: number): Promise<KeptFile[]>
  /**
   * Returns a saved file by its id, or by the `file:` address of a link; null if no such file is recorded. Throws
   * `ToolFailure` if it was deleted or changed, is too large, or is no longer in a folder that may be read.
   */
  readSaved(address: string): Promise<{ file: KeptFile; bytes: Uint8Array } | null>
}

/** Limits of the media in a result. Clients don't show media above their own limits. */
export interface MediaBounds {
  images: number
  /** Maximum length of the longer side. */
  imagePixels: number
  /** Maximum size of one image. */
  imageBytes: number
  /** Maximum size of a recording; 0 if a client accepts none. */
  audioBytes: number
}

export type MediaKind = 'image' | 'video' | 'audio'

/** A program's access to the agent's wallet. */
export interface WalletClient {
  status(): Promise<WalletView>
  /** Buys credit within the policy; above the threshold for approval, the user decides. */
  topUp(amountMicroUsd: MicroUsd, options?: PaidOptions): Promise<ToppedUp>
  receipts(limit: number): Promise<Receipt[]>
  /**
   * Returns what services charged and refunded, newest first; only for the configured service if `isOfAllServices` is
   * false.
   */
  charges(limit: number, options?: { isOfAllServices?: boolean }): Promise<ChargeReceipt[]>
}

/** The last known amount, or why it is unknown. */
export interface SeenAmount {
  amountMicroUsd: MicroUsd | null
  atMs: number | null
  unknown: string | null
}

/** Who pays, with what, and within which caps. */
export interface WalletView {
  pays: 'wallet' | 'apiKey' | 'nothing'
  service: string
  address: string | null
  network: string | null
  creditMicroUsd: MicroUsd | null
  /** When the credit was read, or why it is unknown. */
  creditSeen: Pick<SeenAmount, 'atMs' | 'unknown'>
  /** The wallet's balances by address; empty without a wallet. */
  onChain: readonly (SeenAmount & { network: string; address: string })[]
  /** When this view was made. */
  atMs: number
  caps: { perPayment: MicroUsd; perCall: MicroUsd; perDay: MicroUsd; total: MicroUsd; askAbove: MicroUsd } | null
  /** Whether the next payment needs approval because it is the first of a wallet that was created in a conversation. */
  asksNextPayment: boolean
  /** As counted for the caps; `reserved` is the part of the total whose payment is not confirmed. */
  spent: { today: MicroUsd; total: MicroUsd; reserved: MicroUsd } | null
  /** Credit that is bought before it runs out; null if refills are off. */
  refill: { below: MicroUsd; by: MicroUsd } | null
  /** Payments with unknown outcome; their amounts count as spent. */
  unresolved: number
  payee: string | null
  /** What to do next, if something is missing. */
  next: string | null
}

/** The result of a top-up. */
export interface ToppedUp {
  receipt: Receipt
  /** `chargedMicroUsd` is what left the wallet. */
  paid: Paid
}

/** One payment of the wallet, from its journal. */
export interface Receipt {
  id: string
  atMs: number
  state: 'planned' | 'signed' | 'sent' | 'confirmed' | 'unknown' | 'dead'
  amountMicroUsd: MicroUsd
  network: string
  payTo: string
  transaction: string | null
  /** What it was for, in our words. */
  purpose: string
}

export interface ChargeReceipt {
  /** `charge:` or `refund:` and the id of the request. */
  id: string
  kind: 'charge' | 'refund'
  atMs: number
  /** Whether the service signed it, and whether it matches the answer and the price. */
  state: 'unsigned' | 'unchecked' | 'verified' | 'differs' | 'unverified'
  /** Null if neither a receipt nor the answer states it. */
  amountMicroUsd: MicroUsd | null
  /** The part that staking credit paid. */
  stakingMicroUsd: MicroUsd
  /** What was bought, in our words; null if no call of this wallet's tools bought it. */
  what: string | null
  model: string | null
  usage: { sku: string; units: string }[]
  problem: string | null
}

export interface Estimate {
  /** What the call buys, in our words. */
  what: string
  /** Null if the maximum cost is unknown in advance. */
  mostMicroUsd: MicroUsd | null
  /** Whether the user has to approve it, or the wallet's rules refuse it. */
  approval: 'not_needed' | 'needed' | 'refused'
  /** The rule that requires approval or refuses, in a sentence. */
  because: string | null
}

export interface LimitsView {
  /** The tier that determines the limits; null if the service does not report it. */
  tier: string | null
  /** Where `models` comes from: the service's own list, or its last answers if it has none. */
  source: 'service' | 'answers'
  /** The remaining numbers come from the last answer for that model; null if none reported them. */
  models: {
    model: string
    requestsPerMinute: number | null
    requestsLeft: number | null
    requestsResetAtMs: number | null
    tokensPerMinute: number | null
    tokensLeft: number | null
    tokensResetAtMs: number | null
  }[]
}

/**
 * A block that an assistant gets in addition to text. A model reads all of it, so it is small; the media itself is a
 * file.
 */
export type Shown =
  | { type: 'image' | 'audio' /** Base64. */; data: string; mimeType: string }
  | { type: 'text'; text: string }
  | { type: 'resource'; resource: { uri: string; mimeType: string; text: string } }
