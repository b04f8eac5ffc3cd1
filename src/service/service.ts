import type { AudioQueueRequest } from '#contract/audio-jobs.ts'
import type { Clock } from '#contract/clock.ts'
import type { MicroUsd } from '#contract/money.ts'
import type { Operation } from '#contract/operation.ts'
import type { SettlementResponse } from '#contract/payment.ts'
import type { ServiceError } from '#contract/service-error.ts'
import type { VideoQueueRequest, VideoStatus } from '#contract/video.ts'
import type { VoiceHandles } from './audio/voice-handles.ts'
import type { UsageAnalyticsDesk } from './billing/usage-analytics.ts'
import type { Principal } from './callers/principal.ts'
import type { TrustedProxies } from './callers/trusted-proxies.ts'
import type { Characters } from './characters/characters.ts'
import type { RpcGate } from './crypto/rpc-gate.ts'
import type { DeliveredRanges } from './delivered-ranges.ts'
import type { DownloadStarts } from './download-starts.ts'
import type { EndedRequest } from './ended-request.ts'
import type { ChainNetwork, DocumentReader, PageReader, SearchEngine, VideoTranscriber } from './engines/engine.ts'
import type { Claims } from './idempotency/claims.ts'
import type { ApiKeys } from './identity/api-keys.ts'
import type { Web3Keys } from './identity/web3-keys.ts'
import type { ConsentOrder } from './jobs/consent.ts'
import type { Charges } from './ledger/charges.ts'
import type { Funding } from './ledger/funding.ts'
import type { LedgerWatch } from './ledger/ledger-watch.ts'
import type { BodyStay } from './limits/body-room.ts'
import type { LimitLog } from './limits/limit-log.ts'
import type { UnreadCalls } from './limits/unread-calls.ts'
import type { Log } from './log.ts'
import type { Fetcher } from './media/first-use-fetcher.ts'
import type { MusicModel } from './models/audio-models.ts'
import type { Catalogue } from './models/catalogue.ts'
import type { Model, VideoModel } from './models/model.ts'
import type { Moderator } from './moderation/moderator.ts'
import type { SignInChallenge } from './payment-required.ts'
import type { ChargeReceipts } from './receipts/charge-receipts.ts'
import type { ServiceSettings } from './settings.ts'
import type { Store } from './store/store.ts'
import type { Line, Op, UseNonce } from './store/units.ts'
import type { Underway } from './underway.ts'
import type { VideoMedia } from './video-media/video-media.ts'

/** Everything that answers requests, put together once at start. A route gets it whole and takes what it needs. */
export interface Service {
  settings: ServiceSettings
  clock: Clock
  log: Log
  store: Store
  catalogue: Catalogue
  identity: Identity
  keys: Pick<ApiKeys, 'kept' | 'keptOne' | 'create' | 'setBudget' | 'revoke' | 'requireSecret'>
  guards: Guards
  proxies: Pick<TrustedProxies, 'callerOf'>
  /** Requests that met a limit. */
  limitLog: Pick<LimitLog, 'read'>
  charges: Charges
  funding: Funding
  /** Whether the books take new debits. */
  ledger: Pick<LedgerWatch, 'state'>
  /** Calls that go on after their callers have left. */
  unread: UnreadCalls
  /** Work under an `Idempotency-Key`. */
  claims: Claims
  web3Keys: Pick<Web3Keys, 'token' | 'create'>
  usage: Pick<UsageAnalyticsDesk, 'of'>
  receipts: Pick<ChargeReceipts, 'of' | 'list' | 'keys'>
  payments: Payments
  consent: Consent
  media: Pick<VideoMedia, 'take'>
  jobs: Jobs
  links: Links
  downloadStarts: Pick<DownloadStarts, 'take'>
  deliveredRanges: Pick<DeliveredRanges, 'add'>
  /** Voices that were made of recordings. */
  voices: VoiceHandles
  /** The only way to what a caller names by an address. */
  fetcher: Fetcher
  web: Web
  documents: DocumentReader
  /** Null where the operator set none up. */
  transcriber: VideoTranscriber | null
  /** Blockchains whose nodes callers may ask. */
  networks: readonly ChainNetwork[]
  rpcGate: Pick<RpcGate, 'pass'>
  characters: Characters
  /** Looks at images before they are sold; null where the operator set none up. */
  moderator: Moderator | null
  /** Every request and every question after a job: a model is looked up and used within one. */
  underway: Pick<Underway, 'begin'>
  /** Called once for each request, when its last byte has left. */
  requestEnded(request: EndedRequest): void
}

/** What the service reads of the web; null where its operator set nothing up for it. */
export interface Web {
  search: SearchEngine | null
  pages: PageReader | null
}

export type { Log }

/** Every value of a request header, in the words of the contract. */
export type HeaderReader = (name: string) => readonly string[]

export interface Identity {
  /** Null where nobody identified themselves. Throws what is wrong with a credential that is there. */
  identify(operation: Operation, header: HeaderReader): Promise<Principal | null>
  challenge(): SignInChallenge
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
export interface Caller {
  principal: Principal | null
  address: string
}

export interface LimitedDemand {
  operation: Operation
  /** Whose tier applies; null where the operation has no model, or the request names none that is there. */
  model: Model | null
  /** Its address where absent. */
  countedFor?: CountedFor
}

/** Whom a request without an identity counts for: the payer of a payment that was verified, or its address; an offer apart from payments. */
export type CountedFor = { payer: string } | 'address' | 'offer'

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

export interface Payments {
  /**
   * One top-up (brief §4.1). Throws `topUpRequired`, `invalidPayment`, `settlementPending`. `body` is the stored answer,
   * the same bytes for every resend.
   */
  topUp(request: TopUpRequest): Promise<{ body: string; settlement: SettlementResponse }>
}

export interface TopUpRequest {
  header: HeaderReader
  address: string
  /**
   * Counts this request towards the limit, or throws 429. Called for all but a payment that has been taken on before,
   * whose twins and resends cost nothing and must get its answer.
   */
  count: (countedFor: CountedFor) => Promise<void>
}

export interface Consent {
  /** Throws `needsConsent` where a person's word is missing. Nothing has been held or charged by then. Answers what keeps a word that was given now. */
  require(order: ConsentOrder): Promise<UseNonce[]>
}

export interface Jobs {
  /** The charge and the job in one unit. Throws as `Charges.open` does. */
  accept(order: JobOrder): Promise<AcceptedJob>
  /** Throws `requestIdNotFound`, `mediaNotFound`, or why the job failed. */
  retrieve(request: JobRequest): Promise<RetrievedJob>
  /** Deletes the stored media; deleting twice is the same. False while there is none yet. Throws `requestIdNotFound`. */
  complete(request: JobRequest): Promise<boolean>
  /** Deletes a finished file when its download address has delivered it. Throws `requestIdNotFound`. */
  deleteOnceDelivered(request: JobRequest): Promise<void>
  /** Tells that the last byte of a file has left by its download address. */
  delivered(jobId: string): Promise<void>
  /** For a signed address. Null while there is no file yet. */
  openMedia(jobId: string): Promise<MediaFile | 'deleted' | null>
  /** Deletes what a signed address points to. False while there is nothing yet. */
  revoke(jobId: string): Promise<boolean>
}

export interface Links {
  /** Whether we signed this; its time is for the clock. */
  isSigned(grant: { jobId: string; expiresAtMs: number }, signature: string): boolean
}

export interface JobOrder {
  requestId: string
  principal: Principal
  model: VideoModel | MusicModel
  request: VideoQueueRequest | AudioQueueRequest
  price: { total: MicroUsd; lines: readonly Line[] }
  /** Marks for the same commit, each of which may be there already. */
  marks?: readonly UseNonce[]
  /** Operations for the commit that accepts the job. */
  alsoCommit?: (job: QueuedJob) => Promise<readonly Op[]>
}

/** What a caller is told of a job that was taken on. */
export interface QueuedJob {
  jobId: string
  downloadUrl: string | null
}

export interface AcceptedJob extends QueuedJob {
  availableMicroUsd: MicroUsd | null
}

export interface JobRequest {
  /** Decides in which of the published shapes a failure is answered. */
  type: 'video' | 'music'
  account: string
  jobId: string
  model: string
}

export type RetrievedJob = { state: 'status'; status: VideoStatus } | ({ state: 'file' } & MediaFile)

export interface MediaFile {
  path: string
  bytes: number
  mimeType: string
}
