import { hostname } from 'node:os'
import { join } from 'node:path'
import type { LimitSettings } from '#access/limits/limit-rules.ts'
import type { PlanName } from '#contract/limits.ts'
import { parseUsd } from '#contract/money.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import type { ChainNetwork, PageReader, SearchEngine } from '#engines/ports/engine.ts'
import type { FaceDetector, Moderator, VideoTranscriber } from '#engines/ports/media-engines.ts'
import { once } from '#host/async.ts'
import { type Log, silentLog } from '#host/log.ts'
import { openTracing } from '#host/tracing/tracing.ts'
import type { LedgerCounts } from '#ledger/ledger-counts.ts'
import type { Store } from '#ledger/store/store.ts'
import type { MediaOptions } from '#media/media-options.ts'
import type { SettingsFile } from '#operator/console/settings-file.ts'
import type { OperatedBlocks } from '#operator/queries/operated-blocks.ts'
import type { EvmStakeOptions } from '#payments/evm/evm-stake-reader.ts'
import type { PaymentSettings } from '#payments/rails/rails.ts'
import type { Character } from '../capabilities/characters/characters.ts'
import type { MetricsSources } from '../http/service-metrics.ts'
import type { Model } from '../models/model.ts'
import { OutageLog } from './outage-log.ts'

export interface ServiceOptions {
  /** The address that callers use, without a path: `https://api.example.com`. */
  publicUrl: string
  /** For finished media, and for the database if it is SQLite: then one process owns the folder until `close`. */
  folder: string
  /** Where finished media go: another folder, or an S3 bucket, which several processes share; `folder` by default. */
  media?: MediaOptions
  /**
   * `sqlite:PATH`, a path, or `postgres://…`, which several processes may share; `farebox.db` in the folder by default.
   */
  database?: string
  /**
   * Secrets that hash API keys and sign links, at least 32 random bytes each: first the current one, then former ones
   * while it is being replaced.
   */
  secrets: readonly [string, ...string[]]
  models: readonly Model[]
  /** If absent, callers have only the credit that you give them, and a top-up offers nothing to sign. */
  payments?: PaymentSettings
  /** The contract in which each staked token gives its wallet 1 USD of credit per day; no such credit if absent. */
  staking?: EvmStakeOptions
  /** For web searches, and for chats that request one; both are refused if absent. */
  search?: SearchEngine
  /** For pages that callers name, directly or in chats; both are refused if absent. */
  pages?: PageReader
  /** Blockchains whose nodes callers may query, each through a `JsonRpcNode` or another node; none by default. */
  networks?: readonly ChainNetwork[]
  /** Characters for chats. */
  characters?: readonly Character[]
  /** Transcribes videos; refused if absent. */
  transcriber?: VideoTranscriber
  /**
   * Checks images before they are sold, such as `NsfwModerator`, and lets `safe_mode` blur them; if absent, no image is
   * checked.
   */
  moderator?: Moderator
  /** Precedes the callers' own system prompts unless they opt out. */
  systemPrompt?: string
  /** The vendor word in the names of headers and members; `service` by default. */
  vendor?: string
  /** Detects faces in media, such as `HumanFaces`; if absent, every media file counts as one with a face. */
  faces?: FaceDetector
  /** Private hosts that callers' URLs may name, as `host:port`; none by default. */
  fetchHosts?: readonly string[]
  plan?: PlanName
  /**
   * Proxies in front of the service, as addresses or networks (`10.0.0.0/8`): `X-Forwarded-For` and `Forwarded` are
   * trusted only from them.
   */
  trustedProxies?: readonly string[]
  /** Limits in addition to the plan's: per type, model and account. */
  limits?: LimitSettings
  /** `redis://…` of a Valkey or Redis server, through which the processes of a service share limits and blocks. */
  valkey?: string
  /**
   * Returns the blocks that operators see and lift, such as those of all workers. `own` are those of this process, and
   * the default.
   */
  joinBlocks?: (own: OperatedBlocks) => OperatedBlocks
  /** Opens the loopback API for operators' commands, for requests with this token. */
  adminToken?: string
  /**
   * The customers' page at `/account`. `seller` is the text that names the seller on invoices; false turns the page
   * off.
   */
  account?: false | { seller?: string | undefined }
  /** Collects metrics for Prometheus: at `/metrics` for requests with the token, and in `figures()`. */
  metrics?: MetricsOptions
  /** Nothing is logged if absent. */
  log?: Log
}

interface MetricsOptions {
  token?: string
  /** How many customers, by account id, have their own series; the others share one. */
  customers?: number
}

export interface OpenService {
  /**
   * The API from `/api/v1` on. If a server does not pass Node's own messages as `bindings`, every caller has this
   * machine's address.
   */
  fetch: (request: Request, bindings?: object) => Response | Promise<Response>
  /** Listens on a socket; port 0 lets the system choose. Rejects with Node's own error if the port is taken. */
  listen(at: { host: string; port: number }): Promise<{ port: number }>
  /** Loads in advance what the first chat and the first wallet sign-in would otherwise wait for. */
  warm(): Promise<void>
  /** Creates a customer with this credit, a decimal amount of USD. The key is shown only here. */
  createKey(order: { usd: string; label?: string }): Promise<{ key: string; keyId: string; account: string }>
  /**
   * Replaces the models on sale, with their prices, engines and system prompt. Plan and limits stay as they are if
   * absent; what callers used in this minute counts towards new limits. Calls in flight continue unchanged, and a
   * replaced model is closed after them. If a model is inconsistent, throws the reason and changes nothing.
   */
  reload(changed: { models: readonly Model[]; systemPrompt?: string; plan?: PlanName; limits?: LimitSettings }): void
  /**
   * Returns the request handler of the operators' console at these origins; links use the first. It needs a listener of
   * its own, separate from the API.
   */
  openConsole(
    origins: readonly [string, ...string[]],
    settingsFile?: SettingsFile,
  ): (request: Request, bindings: object) => Response | Promise<Response>
  /** Metrics in Prometheus' text format; null without `metrics`. */
  figures(): Promise<{ contentType: string; text: string } | null>
  /** Stops accepting requests, lets running ones end, and frees the folder. */
  close(): Promise<void>
}

/** Opens the folder, finishes what a crash left, and answers requests until it is closed. */
export async function openService(options: ServiceOptions): Promise<OpenService> {
  // Loads while the store's thread starts on another core.
  const loading = loadMeanwhile()
  await openTracing()
  const { openStore } = await import('#ledger/store/open-store.ts')
  let outage: OutageLog | null = null
  const database = options.database ?? `sqlite:${join(options.folder, 'farebox.db')}`
  const opened = await openStore(database, {
    onTrouble: (error, forMs) => outage?.noticed(error, forMs),
  })
  const ends = [() => opened.close()]
  const close = once(() => endAll(ends.splice(0).reverse()))
  try {
    const log = new OutageLog({ store: opened, clock: systemClock, log: options.log ?? silentLog })
    outage = log
    ends.push(async () => log.close())
    const around = { log, clock: systemClock }
    const { watchedLedger } = await import('#ledger/ledger-watch.ts')
    const counts = await openCounts(options)
    const ledger = watchedLedger({ ...around, store: counts?.around(opened) ?? opened })
    await noteSecretOf(options, ledger.store)
    const settings = await settingsOf(options)
    const media = await openMedia(options, { ...around, store: ledger.store, folder: settings.mediaFolder })
    const parts = { ...options, ...around, ...ledger, database, settings, media }
    const payments = await openPayments(parts)
    ends.push(() => payments.close())
    const shared = await openShared(options, around)
    ends.push(async () => shared.sharedLimits?.close())
    const service = new (await loading.RunningService)({
      ...parts,
      ...shared,
      ...{ payments, ...(await openStakes(options)), ...(await openFigures(options, counts)) },
    })
    ends.push(() => service.close())
    await service.start()
    return {
      fetch: service.app.fetch,
      warm: () => service.warm(),
      openConsole: (origins, settingsFile) => service.openConsole(origins, { settingsFile }),
      async figures() {
        const { metrics } = service
        return metrics && { contentType: metrics.contentType, text: await metrics.text() }
      },
      reload({ models, systemPrompt = '', plan, limits }) {
        if (!ledger.store.soleOwner && !options.models.some(leavesFiles) && models.some(leavesFiles)) {
          throw new Error('Adding the first video or music model needs a restart, which checks the media store.')
        }
        service.reload({ models, systemPrompt, ...(plan ? { plan } : {}), ...(limits ? { limits } : {}) })
      },
      async listen(at) {
        const listener = await (await loading.Listener).open(at)
        ends.push(() => listener.close())
        listener.serve(service.app.fetch)
        return { port: listener.port }
      },
      async createKey({ usd, label = '' }) {
        const amountMicroUsd = parseUsd(usd)
        if (amountMicroUsd === null || amountMicroUsd < 0n) {
          throw new Error(`${JSON.stringify(usd)} is not an amount in USD; write it as 5 or 0.25.`)
        }
        const { createKey } = await import('#access/keys/api-keys.ts')
        return createKey({ keys: service.keys, now: () => systemClock.now() }, { amountMicroUsd, label })
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Loads the code that is always needed. Awaiting the result throws its error; until then the error is not reported. */
function loadMeanwhile() {
  const RunningService = import('./running-service.ts').then(module => module.RunningService)
  const Listener = import('../http/listener.ts').then(module => module.Listener)
  for (const loading of [RunningService, Listener]) loading.catch(() => {})
  return { RunningService, Listener }
}

/** Runs before anything is served: with another secret, keys and links would not work. */
async function noteSecretOf({ secrets, folder }: ServiceOptions, store: Store): Promise<void> {
  const { marksOf, noteSecret, placeOf } = await import('#access/keys/server-secret.ts')
  await noteSecret(store, marksOf(secrets), placeOf(folder), systemClock.now())
}

const settingsOf = async (options: ServiceOptions) => ({
  publicUrl: options.publicUrl.replace(/\/+$/, ''),
  signInDomains: [new URL(options.publicUrl).host],
  signInWindow: false,
  vendor: options.vendor ?? 'service',
  hostName: hostname(),
  systemPrompt: options.systemPrompt ?? '',
  plan: options.plan ?? ('default' as const),
  limits: options.limits,
  paymentOptions: await paymentOptions(options),
  trustedProxies: options.trustedProxies ?? [],
  mediaFolder: join(options.folder, 'media'),
  fetchHosts: options.fetchHosts ?? [],
})

type Parts = Omit<ConstructorParameters<typeof import('./running-service.ts').RunningService>[0], 'payments'>

async function openPayments({ payments, ...parts }: Parts & Pick<ServiceOptions, 'payments'>) {
  if (!payments) {
    const { NoTopUps } = await import('#payments/top-ups/top-up-offer.ts')
    return new NoTopUps(parts.settings)
  }
  const { openPayments: open } = await import('#payments/top-ups/top-up.ts')
  return open(payments, parts)
}

/** Returns what a 402 offers; a service without payments loads none of that code. */
async function paymentOptions({ payments }: ServiceOptions) {
  if (!payments) return []
  const { paymentOptionsOf } = await import('#payments/rails/rails.ts')
  return paymentOptionsOf(payments)
}

async function openStakes({ staking }: ServiceOptions) {
  if (!staking) return {}
  const { openEvmStakeReader } = await import('#payments/evm/evm-stake-reader.ts')
  return { stakes: await openEvmStakeReader(staking) }
}

/** Whether a model creates files that its callers fetch later. */
const leavesFiles = ({ type }: Model): boolean => type === 'video' || type === 'music'

async function openMedia({ media, models }: ServiceOptions, around: OpenMedia) {
  const { openMediaStore } = await import('#media/open-media-store.ts')
  return openMediaStore(media, { ...around, isNeeded: models.some(leavesFiles) })
}

type OpenMedia = { folder: string; store: Store; clock: Clock; log: Log }

async function openShared({ valkey, publicUrl }: ServiceOptions, around: { clock: Clock; log: Log }) {
  if (!valkey) return {}
  const { openSharedLimits } = await import('#access/limits/shared/shared-limits.ts')
  return { sharedLimits: await openSharedLimits({ url: valkey, publicUrl, ...around }) }
}

async function openCounts({ metrics, staking }: ServiceOptions) {
  if (!metrics) return null
  const { LedgerCounts } = await import('#ledger/ledger-counts.ts')
  return new LedgerCounts({ customers: metrics.customers ?? 0, hasStaking: staking !== undefined })
}

async function openFigures({ metrics }: ServiceOptions, counts: LedgerCounts | null) {
  if (!metrics || !counts) return {}
  const { ServiceMetrics } = await import('../http/service-metrics.ts')
  const { token } = metrics
  const open = (sources: Omit<MetricsSources, 'counts'>) => new ServiceMetrics({ ...sources, counts })
  return { figures: { open, ...(token ? { token } : {}) } }
}

/**
 * If one part fails to close, the others are still closed, because the folder must be free afterwards. Throws the first
 * error.
 */
async function endAll(ends: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const end of ends) await end().catch(error => failures.push(error))
  if (failures.length) throw failures[0]
}
