import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKey } from '#access/keys/api-keys.ts'
import type { SharedLimits } from '#access/limits/shared/shared-limits.ts'
import { topUpRequired } from '#contract/errors/errors.ts'
import { microUsd } from '#contract/money.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { DemoChat } from '#engines/demo/chat.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import type { Fetcher } from '#engines/fetch/fetcher.ts'
import type { ChainNetwork, ChatEngine, PageReader, SearchEngine } from '#engines/ports/engine.ts'
import type { FaceDetector, Moderator, VideoEngine, VideoTranscriber } from '#engines/ports/media-engines.ts'
import type { MediaProbe } from '#engines/video-media/video-media.ts'
import type { Log } from '#host/log.ts'
import type { StakeReader } from '#ledger/accounts/stake-reader.ts'
import { LedgerCounts } from '#ledger/ledger-counts.ts'
import { watchedLedger } from '#ledger/ledger-watch.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Payments } from '#payments/top-ups/top-up-offer.ts'
import type { Character } from '#service/capabilities/characters/characters.ts'
import type { ServiceSettings } from '#service/http/service.ts'
import { type MetricsSources, ServiceMetrics } from '#service/http/service-metrics.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model } from '#service/models/model.ts'
import { RunningService } from '#service/running/running-service.ts'
import { canarySecret } from '../canary/canaries.ts'

/** A clock that a test moves. */
export class TestClock {
  #nowMs: number

  constructor(nowMs = Date.parse('2026-11-21T09:00:00Z')) {
    this.#nowMs = nowMs
  }

  now(): number {
    return this.#nowMs
  }

  pass(ms: number): void {
    this.#nowMs += ms
  }
}

export const testOption: PaymentOption = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '5000000',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: '0x000000000000000000000000000000000000dEaD',
  maxTimeoutSeconds: 300,
  extra: { name: 'USD Coin (local)', version: '2' },
}

/** Takes no payment; the payments room has tests of its own. */
const unpaid: Payments = {
  topUp: () => Promise.reject(topUpRequired({ x402Version: 2, accepts: [testOption] })),
}

export const adminToken = 'the token of the operator'

export interface OpenedService {
  service: RunningService
  store: Store
  clock: TestClock
  folder: string
  database: string
  /** What was logged, for a test that nothing unforeseen was. */
  logged: { level: string; facts: object; message: string }[]
  /** What was logged of each request that has ended. */
  ended: object[]
  /** A new customer's key with this much credit. */
  key(usd: number): Promise<string>
  request(path: string, init?: RequestInit): Promise<Response>
  post(path: string, body: unknown, key?: string): Promise<Response>
  close(): Promise<void>
}

export interface OpenServiceOptions {
  chat?: ChatEngine
  video?: VideoEngine
  models?: (engines: { chat: ChatEngine; video: VideoEngine }) => Model[]
  /** A function is given the store that the service has. */
  payments?: Payments | ((store: Store) => Payments)
  /** Gives staking credit; none where absent. */
  stakes?: StakeReader
  /** In the place of the guarded one, which reaches public addresses alone. */
  fetcher?: Fetcher
  /** Tells of faces, and measures media; what the service has by itself where absent. */
  faces?: FaceDetector
  probe?: MediaProbe
  /** Stands before the real store, for a test of what becomes of its failures. */
  storeBefore?: (real: Store) => Store
  search?: SearchEngine
  pages?: PageReader
  networks?: readonly ChainNetwork[]
  characters?: readonly Character[]
  sharedLimits?: SharedLimits
  transcriber?: VideoTranscriber
  moderator?: Moderator
  settings?: Partial<ServiceSettings>
  folder?: string
  /** Collects metrics, at /metrics for callers with this token. */
  metricsToken?: string
  /** So many customers have figures of their own. */
  metricsCustomers?: number
  clock?: TestClock
}

/** The real application on a real database, without a socket. */
export async function openService(options: OpenServiceOptions = {}): Promise<OpenedService> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'farebox-service-')))
  const database = join(folder, 'service', 'farebox.db')
  const real = await openSqliteStore({ path: database })
  const clock = options.clock ?? new TestClock()
  const { log, logged, ended } = recordedLog()
  const counts = new LedgerCounts({ customers: options.metricsCustomers ?? 0, hasStaking: Boolean(options.stakes) })
  const before = options.storeBefore?.(real) ?? real
  const counted = options.metricsToken ? counts.around(before) : before
  const { store, ledger } = watchedLedger({ store: counted, clock, log })
  const engines = {
    chat: options.chat ?? new DemoChat({ pause: async () => undefined }),
    video: options.video ?? new DemoVideo({ workFolder: join(folder, 'engines') }),
  }
  const service = new RunningService({
    settings: {
      publicUrl: 'http://127.0.0.1:8402',
      signInDomains: ['127.0.0.1:8402'],
      signInWindow: false,
      vendor: 'service',
      hostName: 'test-host',
      systemPrompt: '',
      plan: 'default',
      paymentOptions: [testOption],
      mediaFolder: join(folder, 'media'),
      ...options.settings,
    },
    secrets: [canarySecret],
    store,
    database: `sqlite:${database}`,
    ledger,
    models: (options.models ?? demoModels)(engines),
    payments: typeof options.payments === 'function' ? options.payments(store) : (options.payments ?? unpaid),
    ...givenParts(options),
    adminToken,
    ...figuresFor(options.metricsToken, counts),
    clock,
    log,
  })
  await service.start()
  const request = async (path: string, init?: RequestInit) => service.app.request(path, await withBytes(init))
  return {
    service,
    store,
    clock,
    folder,
    database,
    logged,
    ended,
    request,
    async key(usd) {
      const order = { amountMicroUsd: microUsd(Math.round(usd * 1e6)), label: 'test' }
      return (await createKey({ keys: service.keys, now: () => clock.now() }, order)).key
    },
    post: (path, body, key) =>
      request(`/api/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
        body: JSON.stringify(body),
      }),
    async close() {
      await service.close()
      await store.close()
      if (!options.folder) await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Node writes on to a form that a service has stopped reading, and fails unhandled, so a form goes as its bytes. */
async function withBytes(init: RequestInit | undefined): Promise<RequestInit | undefined> {
  if (!(init?.body instanceof FormData)) return init
  const form = new Response(init.body)
  const headers = new Headers(init.headers)
  headers.set('content-type', form.headers.get('content-type') ?? '')
  return { ...init, headers, body: await form.arrayBuffer() }
}

const figuresFor = (token: string | undefined, counts: LedgerCounts) =>
  token
    ? { figures: { open: (given: Omit<MetricsSources, 'counts'>) => new ServiceMetrics({ ...given, counts }), token } }
    : {}

function recordedLog() {
  const logged: OpenedService['logged'] = []
  const ended: object[] = []
  const note = (level: string) => (facts: object, message: string) => void logged.push({ level, facts, message })
  const info = (facts: object, message: string) =>
    message === 'A request ended.' ? void ended.push(facts) : note('info')(facts, message)
  const log: Log = { info, warn: note('warn'), error: note('error') }
  return { log, logged, ended }
}

/** Parts that are the service's own affair where a test has none. */
function givenParts(options: OpenServiceOptions) {
  return {
    ...(options.stakes ? { stakes: options.stakes } : {}),
    ...(options.fetcher ? { fetcher: options.fetcher } : {}),
    ...(options.search ? { search: options.search } : {}),
    ...(options.pages ? { pages: options.pages } : {}),
    ...(options.faces ? { faces: options.faces } : {}),
    ...(options.probe ? { probe: options.probe } : {}),
    ...(options.moderator ? { moderator: options.moderator } : {}),
    ...(options.transcriber ? { transcriber: options.transcriber } : {}),
    ...(options.networks ? { networks: options.networks } : {}),
    ...(options.sharedLimits ? { sharedLimits: options.sharedLimits } : {}),
    ...(options.characters ? { characters: options.characters } : {}),
  }
}
