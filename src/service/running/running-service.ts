import { randomUUID } from 'node:crypto'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { Hono } from 'hono'
import type { CallerIdentity } from '#access/identity/caller-identity.ts'
import { ApiKeys } from '#access/keys/api-keys.ts'
import { AbuseBlock } from '#access/limits/abuse-block.ts'
import { UnreadCalls } from '#access/limits/concurrency.ts'
import type { LimitLog } from '#access/limits/limit-log.ts'
import type { SharedLimits } from '#access/limits/shared/shared-limits.ts'
import { AccountPage } from '#account/account-page.ts'
import type { AccountParts } from '#account/account-route.ts'
import { minuteMs } from '#contract/time.ts'
import { baseUrl, policyUrl } from '#contract/wire/base-url.ts'
import { DocumentFiles } from '#engines/documents/document-files.ts'
import { FirstUseFetcher } from '#engines/fetch/fetcher.ts'
import { everyFileHasFace } from '#engines/ports/media-engines.ts'
import { PacketProbe, VideoMedia } from '#engines/video-media/video-media.ts'
import { InFlight } from '#host/async.ts'
import { recoveryIntervalMs, watchIntervalMs } from '#ledger/bounds.ts'
import type { Charges } from '#ledger/charges/charges.ts'
import { ChargeReceipts } from '#ledger/charges/receipts.ts'
import { LapsedHolds, recoverHolds, recoverHoldsAtStart } from '#ledger/charges/recover-holds.ts'
import { ClockWatch, type LedgerWatch } from '#ledger/ledger-watch.ts'
import { pruneStore } from '#ledger/store/store.ts'
import { FolderMediaStore, type MediaStore } from '#media/media-store.ts'
import { ConsoleBeside } from '#operator/console/console-beside.ts'
import type { SettingsFile } from '#operator/console/settings-file.ts'
import type { OperatedBlocks } from '#operator/queries/operated-blocks.ts'
import { VoiceHandles } from '../capabilities/audio/recordings.ts'
import { UsageAnalyticsService } from '../capabilities/billing/usage-analytics.ts'
import { rateLimitsOf } from '../capabilities/keys/routes.ts'
import { loadChat, loadHttpClient, loadTokenizer, routes } from '../capabilities/routes.ts'
import { Attestations, requireConsent } from '../capabilities/video/consent.ts'
import { type Additions, createApp } from '../http/app.ts'
import { DeliveredRanges, DownloadStarts } from '../http/downloads.ts'
import { type EndedRequest, logRequest } from '../http/exchange.ts'
import { Claims } from '../http/idempotency/claims.ts'
import { drainMs } from '../http/listener.ts'
import type { ServiceEnvironment } from '../http/pipeline.ts'
import { CountedFetcher } from '../http/route.ts'
import type { Service, ServiceSettings } from '../http/service.ts'
import type { ServiceMetrics } from '../http/service-metrics.ts'
import { DownloadLinks, expireMedia, sweepMedia } from '../jobs/finished-media.ts'
import { JobRunner } from '../jobs/job-runner.ts'
import { StoredJobs } from '../jobs/stored-jobs.ts'
import { Catalogue, ReplacedModels } from '../models/catalogue.ts'
import type { Model } from '../models/model.ts'
import { operatorPricesOf } from '../reference/model-prices.ts'
import {
  besideModels,
  chargesOf,
  fundingOf,
  identityOf,
  limitLogOf,
  limitsOf,
  type ServiceParts,
  web3KeysOf,
} from './service-parts.ts'

type ReloadedSettings = Pick<ServiceSettings, 'systemPrompt' | 'plan' | 'limits'>

/** A service that answers requests and does its own background work until it is closed. */
export class RunningService {
  readonly app: Hono<ServiceEnvironment>
  readonly keys: ApiKeys
  readonly metrics: ServiceMetrics | null
  readonly #service: Service & { charges: Charges; identity: CallerIdentity }
  readonly #identity: CallerIdentity
  readonly #runner: JobRunner
  readonly #media: MediaStore
  readonly #fetcher: FirstUseFetcher
  readonly #documents = new DocumentFiles()
  readonly #ledger: LedgerWatch
  readonly #receipts: ChargeReceipts
  readonly #limitLog: LimitLog
  readonly #block: SharedLimits['block']
  readonly #blocks: OperatedBlocks
  readonly #inFlight = new InFlight()
  readonly #replaced: ReplacedModels
  readonly #timers: NodeJS.Timeout[] = []
  readonly #console: ConsoleBeside
  readonly #account: AccountPage | null
  readonly #secrets: ServiceParts['secrets']
  /** Identifies this service in leases; changes with every start. */
  readonly #owner = randomUUID()

  constructor(given: ServiceParts) {
    // One object that every part reads at each request, so that a reload takes effect everywhere at once.
    const settings = { ...given.settings }
    const parts = { ...given, settings }
    const { store, ledger, clock, log } = parts
    this.#ledger = ledger
    this.#console = new ConsoleBeside(parts.database, clock)
    this.#secrets = parts.secrets
    const [owner, inFlight] = [this.#owner, this.#inFlight]
    const catalogue = new Catalogue(parts.models, { ownedBy: settings.vendor, clock, hasSearch: Boolean(parts.search) })
    const serverSecrets = parts.secrets.map(secret => Buffer.from(secret)) as [Buffer, ...Buffer[]]
    this.keys = new ApiKeys({ store, clock, serverSecrets })
    this.#identity = identityOf(parts, this.keys)
    this.#media = parts.media ?? new FolderMediaStore(settings.mediaFolder)
    this.#fetcher = new FirstUseFetcher({ privateHosts: settings.fetchHosts ?? [] })
    const fetcher = parts.fetcher ?? this.#fetcher
    this.#replaced = new ReplacedModels({ inFlight, log })
    this.#runner = new JobRunner({ store, clock, catalogue, media: this.#media, log, owner, inFlight })
    const looks = { faces: parts.faces ?? everyFileHasFace, attestations: new Attestations({ store, clock }) }
    const links = new DownloadLinks(settings.publicUrl, parts.secrets)
    const funding = fundingOf(parts)
    this.#limitLog = limitLogOf(parts)
    this.#block = parts.sharedLimits?.block ?? new AbuseBlock(clock)
    this.#blocks = parts.joinBlocks?.(this.#block) ?? this.#block
    this.#receipts = new ChargeReceipts({ store, clock, issuer: baseUrl(settings), secret: parts.secrets[0] })
    this.#service = {
      settings,
      clock,
      log,
      store,
      catalogue,
      identity: this.#identity,
      keys: this.keys,
      ...limitsOf(parts, this.#limitLog, this.#block),
      charges: chargesOf(parts, funding, owner),
      funding,
      ledger,
      claims: new Claims({ store, clock, owner }),
      unread: new UnreadCalls(clock),
      web3Keys: web3KeysOf(parts, { keys: this.keys, identity: this.#identity, funding }),
      usage: new UsageAnalyticsService({ store, clock, catalogue }),
      receipts: this.#receipts,
      payments: parts.payments,
      consent: {
        require: order => requireConsent(order, { ...looks, policyUrl: provider => policyUrl(settings, provider) }),
      },
      media: new VideoMedia({ probe: parts.probe ?? new PacketProbe(), log }),
      jobs: new StoredJobs({
        store,
        clock,
        catalogue,
        media: this.#media,
        links,
        funding,
        owner,
        onAccepted: () => this.#runner.nudge(),
      }),
      ...{ links, downloadStarts: new DownloadStarts(clock), deliveredRanges: new DeliveredRanges() },
      voices: new VoiceHandles(clock, parts.secrets),
      fetcherFor: room => new CountedFetcher(fetcher, room),
      documents: this.#documents,
      ...besideModels(parts),
      inFlight,
      requestEnded: ended => this.#requestEnded(ended),
    }
    this.metrics = parts.figures?.open({ catalogue, store, ledger }) ?? null
    this.#account = this.#accountPage(parts)
    this.app = createApp(this.#service, routes, this.#additions(parts))
  }

  #requestEnded(ended: EndedRequest): void {
    const { log, clock } = this.#service
    logRequest(log, ended)
    this.#console.recent.add(ended, clock.now())
    this.metrics?.observe(ended)
  }

  #additions({ adminToken: token, figures, store, ledger, clock, payments }: ServiceParts): Additions {
    const admin = {
      ...{ store, keys: this.keys, ledger, now: () => clock.now() },
      operator: { store, clock, ledger, payments, blocks: this.#blocks, ...this.#queries() },
      writeOffs: () => this.#service.charges.writeOffs,
      openedConsole: () => this.#console.links,
    }
    return {
      ...(token ? { admin: { token, ...admin } } : {}),
      ...(this.#account ? { account: this.#account } : {}),
      ...(this.metrics && figures?.token ? { figures: { metrics: this.metrics, token: figures.token } } : {}),
    }
  }

  #queries() {
    return this.#console.queries ? { beside: this.#console.queries } : {}
  }

  #accountPage({ account, database }: ServiceParts): AccountPage | null {
    if (account === false) return null
    const rateLimits: AccountParts['rateLimits'] = principal => rateLimitsOf(principal, this.#service)
    return new AccountPage({ ...this.#service, page: account ?? {}, keys: this.keys, rateLimits }, database)
  }

  /** Serves operators at these addresses; links use the first. */
  openConsole(
    origins: readonly [string, ...string[]],
    { settingsFile }: { settingsFile?: SettingsFile | undefined } = {},
  ) {
    const own = { ledger: this.#ledger, blocks: this.#blocks, secrets: this.#secrets }
    const parts = { ...this.#service, ...own, pricesOf: (id: string) => operatorPricesOf(id, this.#service.catalogue) }
    return this.#console.open(origins, { ...parts, ...(settingsFile ? { settingsFile } : {}) })
  }

  /** Frees what a crash left, then runs jobs and cleanups until `close`. */
  async start(): Promise<void> {
    const { store, clock, charges } = this.#service
    await this.#receipts.publishKey()
    await recoverHoldsAtStart(store, clock, this.#owner)
    await this.#ledger.lookOverAtStart()
    await this.#runner.start()
    const lapsed = new LapsedHolds()
    const spared = {
      isOpenHere: (hold: string) => charges.isOpen(hold),
      isDue: (...args: Parameters<LapsedHolds['isDue']>) => lapsed.isDue(...args),
    }
    const look = () => lapsed.look(clock, () => recoverHolds(store, clock, spared))
    // From now on, holds that other processes left have their time to be renewed.
    if (!store.soleOwner) await look()
    this.#every(recoveryIntervalMs, 'Freeing lapsed holds', look)
    const clockWatch = new ClockWatch(this.#service)
    this.#every(watchIntervalMs, 'Comparing the clocks', () => clockWatch.look())
    this.#every(watchIntervalMs, 'Checking the ledger', () => this.#ledger.lookOver())
    this.#every(sweepIntervalMs, 'Pruning the store', () => pruneStore(store, clock.now()))
    this.#every(sweepIntervalMs, 'Deleting old media', () => expireMedia(store, this.#media, clock))
    this.#every(mediaSweepIntervalMs, 'Sweeping the media store', () => sweepMedia(store, this.#media))
  }

  /**
   * Loads in advance what the first chat and the first wallet sign-in would otherwise wait for; serves requests in
   * between.
   */
  async warm(): Promise<void> {
    for (const load of [loadChat, loadHttpClient, loadTokenizer, () => this.#identity.warm()]) {
      await load()
      await setImmediate()
    }
  }

  /**
   * Sells other models from now on, with another system prompt and other limits. Calls in flight continue unchanged,
   * and what callers used in this minute still counts. Replaced models are closed after the last call that may use
   * them. Throws if a model is inconsistent, and then changes nothing.
   */
  reload({ models, ...changed }: { models: readonly Model[] } & Partial<ReloadedSettings>): void {
    const { catalogue, settings } = this.#service
    const former = catalogue.models
    catalogue.replace(models)
    Object.assign(settings, changed)
    void this.#replaced.end(former.filter(model => !models.includes(model)))
  }

  /** Ends running charges first; jobs are left to their leases. The store stays open; the caller closes it. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#runner.stop()
    const waited = new AbortController()
    const late = sleep(drainMs, 'late', { signal: waited.signal }).catch(() => 'drained')
    const { charges, claims } = this.#service
    if ((await Promise.race([Promise.all([charges.drain(), claims.drain()]), late])) === 'late') {
      this.#service.log.warn({}, 'Some calls are still open; their holds will lapse.')
    }
    waited.abort()
    await this.#limitLog.flush()
    const parts = [this.#fetcher, this.#documents, this.#replaced, this.#console, this.#account]
    await Promise.all(parts.map(part => part?.close()))
  }

  #every(intervalMs: number, what: string, run: () => Promise<unknown>): void {
    const timer = setInterval(() => {
      run().catch(error => this.#service.log.error({ err: error }, `${what} failed; it is retried.`))
    }, intervalMs)
    this.#timers.push(timer.unref())
  }
}

/** How often expired rows, old media and old nonces are swept. */
const sweepIntervalMs = 60_000

/** How often the media store is searched for what crashes left; a bucket lists a thousand files in each request. */
const mediaSweepIntervalMs = 15 * minuteMs
