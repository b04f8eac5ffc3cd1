import { CallerIdentity } from '#access/identity/caller-identity.ts'
import { TrustedProxies } from '#access/identity/trusted-proxies.ts'
import type { SignerOf } from '#access/identity/wallet-sign-in.ts'
import type { ApiKeys } from '#access/keys/api-keys.ts'
import { Web3Keys, Web3Tokens } from '#access/keys/web3-keys.ts'
import { BodyRoom, WalletSlots } from '#access/limits/concurrency.ts'
import { RequestGuards } from '#access/limits/guards.ts'
import { LimitLog } from '#access/limits/limit-log.ts'
import { Limiter } from '#access/limits/limiter.ts'
import type { SharedLimits } from '#access/limits/shared/shared-limits.ts'
import { Windows } from '#access/limits/windows.ts'
import type { AccountPageSettings } from '#account/account-route.ts'
import type { Clock } from '#contract/time.ts'
import { baseUrl } from '#contract/wire/base-url.ts'
import type { Fetcher } from '#engines/fetch/fetcher.ts'
import type { ChainNetwork, PageReader, SearchEngine } from '#engines/ports/engine.ts'
import type { FaceDetector, Moderator, VideoTranscriber } from '#engines/ports/media-engines.ts'
import type { MediaProbe } from '#engines/video-media/video-media.ts'
import type { Log } from '#host/log.ts'
import { WalletAccounts } from '#ledger/accounts/customers.ts'
import type { StakeReader } from '#ledger/accounts/stake-reader.ts'
import { StakingCredits } from '#ledger/accounts/staking.ts'
import { Charges } from '#ledger/charges/charges.ts'
import { Funding } from '#ledger/charges/funding.ts'
import type { LedgerWatch } from '#ledger/ledger-watch.ts'
import type { Store } from '#ledger/store/store.ts'
import type { MediaStore } from '#media/media-store.ts'
import type { OperatedBlocks } from '#operator/queries/operated-blocks.ts'
import type { Payments } from '#payments/top-ups/top-up-offer.ts'
import { type Character, Characters } from '../capabilities/characters/characters.ts'
import { checkNetworks, RpcGate } from '../capabilities/rpc/routes.ts'
import type { ServiceSettings } from '../http/service.ts'
import type { MetricsSources, ServiceMetrics } from '../http/service-metrics.ts'
import type { Model } from '../models/model.ts'

export interface ServiceParts {
  settings: ServiceSettings
  /** The first signs and hashes; former ones are accepted while a secret is being replaced. */
  secrets: readonly [string, ...string[]]
  /** The watched store, and its watch: `watchedLedger`. */
  store: Store
  /** The configured address of the ledger. If given, operators' queries and audits do not delay requests. */
  database?: string
  ledger: LedgerWatch
  models: readonly Model[]
  payments: Payments
  /** Gives staking credit each day; none if absent. */
  stakes?: StakeReader
  /** Defaults to the guarded one. */
  fetcher?: Fetcher
  /** Web search and pages; each is refused by name if absent. */
  search?: SearchEngine
  pages?: PageReader
  /** Detects faces in media; if absent, every media file counts as one with a face. */
  faces?: FaceDetector
  /** Stores files of finished jobs; by default in the settings' `mediaFolder`. */
  media?: MediaStore
  /** Measures media; by their packets by default. */
  probe?: MediaProbe
  /** None if absent. */
  networks?: readonly ChainNetwork[]
  characters?: readonly Character[]
  transcriber?: VideoTranscriber
  /** Images are not checked if absent. */
  moderator?: Moderator
  /** Returns whose key signed a text; computed here by default. */
  signerOf?: SignerOf
  /** Counts shared with the service's other processes; only this process if absent. The caller closes them. */
  sharedLimits?: SharedLimits
  /** Shows and lifts blocks for operators, given those of this process; only these by default. */
  joinBlocks?: (own: OperatedBlocks) => OperatedBlocks
  clock: Clock
  log: Log
  /** Opens the loopback API for the operator's commands. */
  adminToken?: string
  /** The customers' page at `/account`; false to disable it. */
  account?: AccountPageSettings | false
  /** Collects metrics; none if absent. */
  figures?: { open: (sources: Omit<MetricsSources, 'counts'>) => ServiceMetrics; token?: string }
}

/** What is sold in addition to the models; each is refused by name if it is not configured. */
export const besideModels = ({
  store,
  clock,
  search,
  pages,
  transcriber,
  moderator,
  networks,
  characters,
}: ServiceParts) => ({
  web: { search: search ?? null, pages: pages ?? null },
  transcriber: transcriber ?? null,
  moderator: moderator ?? null,
  networks: checkNetworks(networks ?? []),
  rpcGate: new RpcGate({ store, clock }),
  characters: new Characters(characters),
})
export const identityOf = ({ store, clock, settings, signerOf }: ServiceParts, keys: ApiKeys): CallerIdentity =>
  new CallerIdentity({ store, clock, keys, settings, ...(signerOf ? { signerOf } : {}) })

export const web3KeysOf = (
  { store, clock, settings, secrets }: ServiceParts,
  { keys, identity, funding }: { keys: ApiKeys; identity: CallerIdentity; funding: Funding },
): Web3Keys =>
  new Web3Keys({
    clock,
    keys,
    accounts: new WalletAccounts(store),
    funding,
    tokens: new Web3Tokens({ issuer: baseUrl(settings), secrets }),
    signerOf: identity.signerOf,
  })

export function fundingOf({ store, clock, log, stakes }: ServiceParts): Funding {
  const onFailure = (error: unknown) =>
    log.warn({ err: error }, 'A stake could not be read; until it can, today’s last known stake applies.')
  const staking = stakes ? new StakingCredits({ store, clock, reader: stakes, onFailure }) : null
  return new Funding({ store, clock, staking })
}

export const chargesOf = ({ store, clock, log }: ServiceParts, funding: Funding, owner: string): Charges =>
  new Charges({
    store,
    clock,
    owner,
    funding,
    onWriteOff: ({ request, model }, amount) =>
      log.warn({ request, model, microUsd: `${amount}` }, 'A call cost more than its hold; the rest was written off.'),
    onHoldLost: ({ request, model }, { totalMicroUsd, lostMicroUsd }) =>
      log.warn(
        { request, model, microUsd: `${totalMicroUsd}`, lostMicroUsd: `${lostMicroUsd}` },
        'The hold of a call ended before the call did; the call was charged as far as possible.',
      ),
    onFailure: error =>
      log.error({ err: error }, 'The cost of a call could not be computed, or its hold could not be renewed.'),
  })

/** The subject that a request counts for, and the limits that apply. */
export const limitsOf = (parts: ServiceParts, limitLog: LimitLog, block: SharedLimits['block']) => ({
  guards: guardsOf(parts, limitLog, block),
  proxies: new TrustedProxies(parts.settings.trustedProxies ?? []),
  limitLog,
})

export const limitLogOf = ({ store, clock, log }: ServiceParts): LimitLog =>
  new LimitLog({
    store,
    clock,
    onFailure: error => log.warn({ err: error }, 'Rows of the limit log were lost.'),
  })

function guardsOf(
  { clock, settings, sharedLimits: shared }: ServiceParts,
  limitLog: LimitLog,
  block: SharedLimits['block'],
): RequestGuards {
  return new RequestGuards({
    block,
    slots: new WalletSlots(clock),
    bodies: new BodyRoom(clock, settings.bodyRoom),
    limiter: new Limiter({ store: shared?.windows ?? new Windows(), clock, settings: () => settings.limits }),
    log: limitLog,
  })
}
