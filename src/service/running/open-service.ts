import { hostname } from 'node:os'
import { join } from 'node:path'
import type { LimitSettings } from '#access/limits/limit-rules.ts'
import type { PlanName } from '#contract/limits.ts'
import { parseUsd } from '#contract/money.ts'
import { type Clock, systemClock } from '#contract/time.ts'
import type { ChainNetwork, PageReader, SearchEngine } from '#engines/ports/engine.ts'
import type { FaceDetector, Moderator, VideoTranscriber } from '#engines/ports/media-engines.ts'
import { once } from '#host/async.ts'
import type { Log } from '#host/log.ts'
import { openTracing } from '#host/tracing/tracing.ts'
import type { Store } from '#ledger/store/store.ts'
import type { EvmStakeOptions } from '#payments/evm/evm-stake-reader.ts'
import type { PaymentSettings } from '#payments/rails/rails.ts'
import type { Character } from '../capabilities/characters/characters.ts'
import type { MetricsSources } from '../http/service-metrics.ts'
import type { Model } from '../models/model.ts'
import { OutageLog } from './outage-log.ts'

export interface ServiceOptions {
  /** The address that callers use, without a path: `https://api.example.com`. */
  publicUrl: string
  /** For finished media, and for the database where that is SQLite: then one process owns the folder until `close`. */
  folder: string
  /** `sqlite:PATH`, a path, or `postgres://…`, which several processes may share; `farebox.db` in the folder where absent. */
  database?: string
  /** Hash keys and sign links, at least 32 random bytes each; former ones follow while a secret is being replaced. */
  secrets: readonly [string, ...string[]]
  models: readonly Model[]
  /** Absent where credit comes with keys alone: then a top-up offers nothing to sign. */
  payments?: PaymentSettings
  /** The contract whose staked tokens give their wallet 1 USD of credit each a day; nobody has such credit where absent. */
  staking?: EvmStakeOptions
  /** For searches of the web, and for chats that ask for one; both are refused where absent. */
  search?: SearchEngine
  /** For pages that callers name, alone and in chats; both are refused where absent. */
  pages?: PageReader
  /** Blockchains whose nodes callers may ask, each by a `JsonRpcNode` or another node; none where absent. */
  networks?: readonly ChainNetwork[]
  /** Personas that a chat may be answered as. */
  characters?: readonly Character[]
  /** Writes down what is said in videos; refused where absent. */
  transcriber?: VideoTranscriber
  /** Looks at images before they are sold, such as `NsfwModerator`: then `safe_mode` blurs. Nobody looks where absent. */
  moderator?: Moderator
  /** Comes before the callers' own system prompts unless they say no. */
  systemPrompt?: string
  /** Stands in the names of headers and members; `service` where absent. */
  vendor?: string
  /** Tells whether media show a face, such as `HumanFaces`; every one counts as if it did where absent. */
  faces?: FaceDetector
  /** Hosts that callers' addresses may lead to although they are not public, as `host:port`; none where absent. */
  fetchHosts?: readonly string[]
  plan?: PlanName
  /** Proxies before the service, as addresses or networks (`10.0.0.0/8`): `X-Forwarded-For` and `Forwarded` count from them alone. */
  trustedProxies?: readonly string[]
  /** Limits beside those of the plan: of types, of models, of accounts. */
  limits?: LimitSettings
  /** `redis://…` of a Valkey or Redis server, by which the processes of a service share limits and blocks. */
  valkey?: string
  /** Opens the loopback API of operators' commands, for requests with this token. */
  adminToken?: string
  /** Counts what the service does, for Prometheus: at `/metrics` for requests with the token, and in `figures()`. */
  metrics?: { token?: string }
  /** Nothing is logged where absent. */
  log?: Log
}

export interface OpenService {
  /**
   * The API from `/api/v1` on. Without Node's own messages, which a server hands over as `bindings`, every caller has
   * this machine's address.
   */
  fetch: (request: Request, bindings?: object) => Response | Promise<Response>
  /** The same on a socket; port 0 lets the system choose. Rejects with Node's own error where the port is taken. */
  listen(at: { host: string; port: number }): Promise<{ port: number }>
  /** Loads what the first chat and the first wallet would wait for. */
  warm(): Promise<void>
  /** A customer with so much credit, a decimal amount of USD. The key is shown this once. */
  createKey(order: { usd: string; label?: string }): Promise<{ key: string; keyId: string; account: string }>
  /**
   * Sells other models from now on, at other prices and through other engines, and puts another system prompt before
   * theirs. Plan and limits stay as they are where absent; what callers used of this minute counts towards new ones. What
   * runs goes on as it began; a replaced model is ended by its `close` after that. Throws a sentence where a model
   * contradicts itself, and changes nothing then.
   */
  reload(changed: { models: readonly Model[]; systemPrompt?: string; plan?: PlanName; limits?: LimitSettings }): void
  /** In Prometheus' text format; null without `metrics`. */
  figures(): Promise<{ contentType: string; text: string } | null>
  /** Takes no more requests, lets running ones end, and frees the folder. */
  close(): Promise<void>
}

/** Opens the folder, finishes what a crash left, and answers requests until it is closed. */
export async function openService(options: ServiceOptions): Promise<OpenService> {
  // Loaded while the store's thread starts, which is on another core.
  const loading = loadMeanwhile()
  await openTracing()
  const { openStore } = await import('#ledger/store/open-store.ts')
  let outage: OutageLog | null = null
  const opened = await openStore(options.database ?? `sqlite:${join(options.folder, 'farebox.db')}`, {
    onTrouble: (error, forMs) => outage?.noticed(error, forMs),
  })
  const ends = [() => opened.close()]
  const close = once(() => endAll(ends.splice(0).reverse()))
  try {
    const log = new OutageLog({ store: opened, clock: systemClock, log: options.log ?? silent })
    outage = log
    ends.push(async () => log.close())
    const around = { log, clock: systemClock }
    const { watchedLedger } = await import('#ledger/ledger-watch.ts')
    const ledger = watchedLedger({ ...around, store: opened })
    await noteSecretOf(options, ledger.store)
    const parts = { ...options, ...around, ...ledger, settings: await settingsOf(options) }
    const payments = await openPayments(parts)
    ends.push(() => payments.close())
    const shared = await openShared(options, around)
    ends.push(async () => shared.sharedLimits?.close())
    const service = new (await loading.RunningService)({
      ...parts,
      ...shared,
      ...{ payments, ...(await openStakes(options)), ...(await openFigures(options)) },
    })
    ends.push(() => service.close())
    await service.start()
    return {
      fetch: service.app.fetch,
      warm: () => service.warm(),
      async figures() {
        const { metrics } = service
        return metrics && { contentType: metrics.contentType, text: await metrics.text() }
      },
      reload: ({ models, systemPrompt = '', plan, limits }) =>
        service.reload({ models, systemPrompt, ...(plan ? { plan } : {}), ...(limits ? { limits } : {}) }),
      async listen(at) {
        const listener = await (await loading.Listener).open(at)
        ends.push(() => listener.close())
        listener.serve(service.app.fetch)
        return { port: listener.port }
      },
      async createKey({ usd, label = '' }) {
        const amountMicroUsd = parseUsd(usd)
        if (amountMicroUsd === null || amountMicroUsd < 0n) {
          throw new Error(`${JSON.stringify(usd)} is not an amount in USD: write it as 5 or 0.25.`)
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

/** What is needed in any case. Awaiting it throws its error; until then the error is not reported. */
function loadMeanwhile() {
  const RunningService = import('./running-service.ts').then(module => module.RunningService)
  const Listener = import('../http/listener.ts').then(module => module.Listener)
  for (const loading of [RunningService, Listener]) loading.catch(() => {})
  return { RunningService, Listener }
}

/** Before anything is served: keys and links of a service with another secret would be worth nothing. */
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

/** What a 402 offers; a service without payments loads none of the code. */
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

async function openShared({ valkey, publicUrl }: ServiceOptions, around: { clock: Clock; log: Log }) {
  if (!valkey) return {}
  const { openSharedLimits } = await import('#access/limits/shared/shared-limits.ts')
  return { sharedLimits: await openSharedLimits({ url: valkey, publicUrl, ...around }) }
}

async function openFigures({ metrics }: ServiceOptions) {
  if (!metrics) return {}
  const { ServiceMetrics } = await import('../http/service-metrics.ts')
  const { token } = metrics
  return { figures: { open: (sources: MetricsSources) => new ServiceMetrics(sources), ...(token ? { token } : {}) } }
}

/** One end that fails must not keep the others from theirs: the folder has to be free afterwards. Throws the first error. */
async function endAll(ends: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const end of ends) await end().catch(error => failures.push(error))
  if (failures.length) throw failures[0]
}

const silent: Log = { info() {}, warn() {}, error() {} }
