import type { Identity } from '#access/identity/caller-identity.ts'
import type { TrustedProxies } from '#access/identity/trusted-proxies.ts'
import type { ApiKeys } from '#access/keys/api-keys.ts'
import type { Web3Keys } from '#access/keys/web3-keys.ts'
import type { BodyStay, UnreadCalls } from '#access/limits/concurrency.ts'
import type { Guards } from '#access/limits/guards.ts'
import type { LimitLog } from '#access/limits/limit-log.ts'
import type { AccessSettings } from '#access/payment-required.ts'
import type { UsageAnalytics } from '#contract/operations/billing.ts'
import type { CharacterQuery, CharacterRecord, CharacterReviews } from '#contract/operations/characters.ts'
import type { VideoQueueRequest } from '#contract/operations/video.ts'
import type { Clock } from '#contract/time.ts'
import type { ChainNetwork, DocumentReader, Web } from '#engines/ports/engine.ts'
import type { Moderator, VideoTranscriber } from '#engines/ports/media-engines.ts'
import type { TakenMediaItem, VideoMedia } from '#engines/video-media/video-media.ts'
import type { InFlight } from '#host/async.ts'
import type { Log } from '#host/log.ts'
import type { Charges } from '#ledger/charges/charges.ts'
import type { Funding } from '#ledger/charges/funding.ts'
import type { ChargeReceipts } from '#ledger/charges/receipts.ts'
import type { LedgerWatch } from '#ledger/ledger-watch.ts'
import type { Store } from '#ledger/store/store.ts'
import type { UseNonce } from '#ledger/store/units.ts'
import type { Payments } from '#payments/top-ups/top-up-offer.ts'
import type { Jobs, Links } from '../jobs/jobs.ts'
import type { Catalogue } from '../models/catalogue.ts'
import type { VideoModel } from '../models/model.ts'
import type { DeliveredRanges, DownloadStarts } from './downloads.ts'
import type { EndedRequest } from './exchange.ts'
import type { Claims } from './idempotency/claims.ts'
import type { CountedFetcher } from './route.ts'

/** Everything that answers requests, assembled once at startup. A route gets all of it and takes what it needs. */
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
  /** Requests that hit a limit. */
  limitLog: Pick<LimitLog, 'read'>
  charges: Charges
  funding: Funding
  /** Whether the ledger accepts new debits. */
  ledger: Pick<LedgerWatch, 'state'>
  /** Calls that continue after their callers have left. */
  unread: UnreadCalls
  /** Work with an `Idempotency-Key`. */
  claims: Claims
  web3Keys: Pick<Web3Keys, 'token' | 'create'>
  usage: Usage
  receipts: Pick<ChargeReceipts, 'of' | 'list' | 'keys'>
  payments: Payments
  consent: Consent
  media: Pick<VideoMedia, 'take'>
  jobs: Jobs
  links: Links
  downloadStarts: Pick<DownloadStarts, 'take'>
  deliveredRanges: Pick<DeliveredRanges, 'add'>
  /** Voices cloned from recordings. */
  voices: Voices
  /**
   * Returns the fetcher of a call, which counts in the call's share of memory; callers' URLs are fetched in no other
   * way.
   */
  fetcherFor(room: BodyStay): CountedFetcher
  web: Web
  documents: DocumentReader
  /** Null if the operator has configured none. */
  transcriber: VideoTranscriber | null
  /** Blockchains whose nodes callers may query. */
  networks: readonly ChainNetwork[]
  rpcGate: RpcGate
  characters: Characters
  /** Checks images before they are sold; null if the operator has configured none. */
  moderator: Moderator | null
  /** Every request and every poll of a job, because each may use a model until it ends. */
  inFlight: Pick<InFlight, 'begin'>
  /** Called once per request, when its last byte has left. */
  requestEnded(request: EndedRequest): void
}

/** UTC days, both inclusive, by their first millisecond. */
export interface DayRange {
  /** The id as the answer gives it. */
  lookback: string
  firstDayMs: number
  lastDayMs: number
}

/** A voice's owner and model; its id works for no other. */
export interface VoiceOwner {
  account: string
  model: string
}

interface Usage {
  of(account: string, days: DayRange): Promise<UsageAnalytics>
}

/** Ids of voices cloned from recordings. */
export interface Voices {
  write(voice: string, owner: VoiceOwner): string
  /** Returns null for an id of another owner, or an expired one. */
  read(id: string, owner: VoiceOwner): string | null
}

/** The operator's personas. All but `list` throw `characterNotFound`. */
interface Characters {
  named(slug: string): { instructions: string }
  record(slug: string): CharacterRecord
  list(query: CharacterQuery): CharacterRecord[]
  reviews(slug: string, page: { page: number; pageSize: number }): CharacterReviews
}

interface RpcGate {
  /**
   * Runs work that costs at most this many credits, and returns its value. Throws 429 `rpcInFlight`, `rpcCreditsUsed`.
   */
  pass<Value>(account: string, most: number, run: () => Promise<{ value: Value; credits: number }>): Promise<Value>
}

export interface ConsentOrder {
  account: string
  model: VideoModel
  request: VideoQueueRequest
  media: readonly TakenMediaItem[]
  signal: AbortSignal
}

interface Consent {
  /**
   * Throws `needsConsent` if a user's consent is missing; nothing has been held or charged by then. Returns the
   * operations that store a consent that was given now.
   */
  require(order: ConsentOrder): Promise<UseNonce[]>
}

/** Everything that an operator configures, read once at startup; none of it is secret. */
export interface ServiceSettings extends AccessSettings {
  vendor: string
  /** The value of `x-service-host-name`. */
  hostName: string
  /** Precedes the caller's own system prompts unless they opt out; empty for none. */
  systemPrompt: string
  mediaFolder: string
  /** Private hosts, as `host:port`, that callers' addresses may name. */
  fetchHosts?: readonly string[]
}
