import type { MicroUsd } from '#contract/money.ts'
import type { ModelRecord } from '#contract/operations/models.ts'
import type { AnswerOf, CallOf, Operation } from '#contract/operations/operation.ts'
import type { FormFile } from './values/form-file.ts'

/**
 * All that a tool can do. Every effect behind it obeys the wallet's policy, tops up on 402, respects limits and keeps
 * its own records, once, for every tool. Effects throw `NeedsPerson` or `ToolFailure`, which tools let pass.
 */
export interface ToolContext {
  /** Calls the service; `answer` is what the operation's 200 says. Throws `ResultInstead` where it becomes a job. */
  call<O extends Operation>(operation: O, call: CallOf<O>, options?: PaidOptions): Promise<Answered<O>>
  /** The same for an operation that queues work: what it started becomes a job that survives a restart. */
  start<O extends Operation>(operation: O, call: CallOf<O>, options?: PaidOptions): Promise<Started>
  /** The same for an operation that makes images or audio: what it made is saved in the output folder. */
  make<O extends Operation>(operation: O, call: CallOf<O>, options?: PaidOptions): Promise<Made>
  jobs: JobStore
  files: FileStore
  wallet: WalletClient
  limits(): Promise<LimitsView>
  /** Every model of the service, as it was some minutes ago at most. */
  models(): Promise<readonly ModelRecord[]>
  /** Tells the user how far a wait has come. Cheap; may be dropped. */
  report(progress: { message: string; done?: number; total?: number }): void
  signal: AbortSignal
  /** Unix time in milliseconds. */
  now(): number
}

/** How a paid call may differ. It never raises a limit, approves or consents. */
export interface PaidOptions {
  /** Buys another, where the same call within 10 minutes of an unfinished or undelivered one would return that one. */
  again?: boolean | undefined
}

/** What a paid result always says. Null where it is not known. */
export interface Paid {
  /** What this call cost now: zero where an earlier one had paid for it. */
  chargedMicroUsd: MicroUsd | null
  creditLeftMicroUsd: MicroUsd | null
  /** What the wallet may still pay today under its policy; null with an API key alone. */
  budgetLeftMicroUsd: MicroUsd | null
  /** The result is the one that an earlier, undelivered call paid for. */
  isEarlierCall?: boolean
  /** What is wrong with the receipt of the charge, one sentence; absent where nothing is known to be. */
  receiptProblem?: string
  /** What the wallet did beside the call, in sentences of ours. */
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
  /** The model that the service says made it; null where it does not say. */
  model: string | null
  /** The service blurred an image by its content policy. */
  isBlurred: boolean
  paid: Paid
}

export interface JobStore {
  /**
   * Waits until the job ends or `timeoutMs` is over, saves what it made, and reports progress meanwhile. Free. Of a call
   * that became a job it throws `ResultInstead` with the result of that call.
   */
  wait(jobId: string, timeoutMs: number): Promise<JobView>
  /** Newest first. */
  list(limit: number): Promise<JobView[]>
  /** Deletes what a finished job made at the service; the saved file stays. Throws `ToolFailure` for one that still runs. */
  delete(jobId: string): Promise<JobView>
}

export interface JobView {
  jobId: string
  /** `call`: a call whose answer took longer than its caller could wait. */
  kind: 'video' | 'audio' | 'call'
  model: string
  state: 'running' | 'completed' | 'failed' | 'deleted'
  startedAtMs: number
  /** How long such a job takes by experience; null when it is not known yet. */
  typicalMs: number | null
  /** Of a call what it was charged, once that is known. */
  priceMicroUsd: MicroUsd | null
  refunded: boolean
  /** Present once it is completed and saved. */
  file: SavedFile | null
  /** Why it failed, one sentence in our words. */
  failure: string | null
}

export interface SavedFile {
  /** Absolute, inside the output folder. */
  path: string
  mimeType: string
  bytes: number
}

/** A saved file that is remembered; it may have been deleted since. */
export interface KeptFile extends SavedFile {
  id: string
  /** Which made it; null of what no model made, or where it is not known. */
  model: string | null
  /** The tool that was called for it; null where it is not known. */
  tool: string | null
  savedAtMs: number
}

export interface FileStore {
  /** A file of an allowed folder as a data URL; an http(s) or data URL passes as it is. Checks folder, type and size. */
  asMediaUrl(source: string, kind: MediaKind): Promise<string>
  /** A file of an allowed folder for a form. Checks folder, type and size; no address is taken. */
  asFormFile(path: string, kind: MediaKind | 'document'): Promise<FormFile>
  /** Keeps a text that is too long to be shown in the output folder; `name` says in a word or two where it is from. */
  saveText(text: string, name: string, mimeType?: 'text/plain' | 'application/json'): Promise<SavedFile>
  /** A saved image or film as one small image, or a sentence why there is none. Never throws. */
  preview(file: SavedFile): Promise<Shown>
  /** What was saved last, the newest first. */
  saved(limit: number): Promise<KeptFile[]>
  /**
   * A saved file by its id, or by the `file:` address of a link; null where no such file is remembered. Throws
   * `ToolFailure` where it is deleted, changed, too large, or not in a folder that may be read any more.
   */
  readSaved(address: string): Promise<{ file: KeptFile; bytes: Uint8Array } | null>
}

export type MediaKind = 'image' | 'video' | 'audio'

export interface WalletClient {
  status(): Promise<WalletView>
  /** Buys credit within the policy; above the asking threshold the user decides. */
  topUp(amountMicroUsd: MicroUsd, options?: PaidOptions): Promise<ToppedUp>
  receipts(limit: number): Promise<Receipt[]>
  /** What services charged and gave back, newest first; of the configured service alone where `isOfAllServices` is false. */
  charges(limit: number, options?: { isOfAllServices?: boolean }): Promise<ChargeReceipt[]>
}

/** An amount as it was seen last; where it never was, why not. */
export interface SeenAmount {
  amountMicroUsd: MicroUsd | null
  atMs: number | null
  unknown: string | null
}

export interface WalletView {
  pays: 'wallet' | 'apiKey' | 'nothing'
  service: string
  address: string | null
  network: string | null
  creditMicroUsd: MicroUsd | null
  /** When the credit was seen, or why it was not. */
  creditSeen: Pick<SeenAmount, 'atMs' | 'unknown'>
  /** What the wallet holds, by address; empty without a wallet. */
  onChain: readonly (SeenAmount & { network: string; address: string })[]
  /** When it was looked at. */
  atMs: number
  caps: { perPayment: MicroUsd; perCall: MicroUsd; perDay: MicroUsd; total: MicroUsd; askAbove: MicroUsd } | null
  /** As the caps count it; `reserved` is what of the total is not known to have been paid. */
  spent: { today: MicroUsd; total: MicroUsd; reserved: MicroUsd } | null
  /** Credit that is refilled ahead of need; null where it is not. */
  refill: { below: MicroUsd; by: MicroUsd } | null
  /** Payments whose outcome is not known yet; their amounts count as spent. */
  unresolved: number
  payee: string | null
  /** What to do next, when something is missing. */
  next: string | null
}

export interface ToppedUp {
  receipt: Receipt
  /** `chargedMicroUsd` is what left the wallet. */
  paid: Paid
}

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
  /** Whether the service signed it, and whether it says what the answer and the price did. */
  state: 'unsigned' | 'unchecked' | 'verified' | 'differs' | 'unverified'
  /** Null where neither a receipt nor the answer says it. */
  amountMicroUsd: MicroUsd | null
  /** The part of it that staking credit paid. */
  stakingMicroUsd: MicroUsd
  /** What was bought, in our words; null for what no call of this wallet's tools bought. */
  what: string | null
  model: string | null
  usage: { sku: string; units: string }[]
  problem: string | null
}

export interface LimitsView {
  creditMicroUsd: MicroUsd | null
  /** Credit that the wallet refills ahead of need; absent where it does not. */
  refill?: NonNullable<WalletView['refill']>
  /** Where `models` comes from: the service's own list, or what its last answers said where it has none. */
  source: 'service' | 'answers'
  /** What is left is what the last answer of that model said; null where none did. */
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

/** What an assistant is shown beside a text. A model reads all of it, so it is small; larger work is a file. */
export type Shown =
  | { type: 'image' | 'audio' /** Base64. */; data: string; mimeType: string }
  | { type: 'text'; text: string }
  | { type: 'resource'; resource: { uri: string; mimeType: string; text: string } }
