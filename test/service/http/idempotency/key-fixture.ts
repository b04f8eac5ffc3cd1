import { vi } from 'vitest'
import { pricePerMillion } from '#contract/money.ts'
import type { JobProgress, VideoCall, VideoEngine } from '#engines/ports/media-engines.ts'
import type { StakeReader } from '#ledger/accounts/stake-reader.ts'
import { recoveryIntervalMs } from '#ledger/bounds.ts'
import { lapsedForMs } from '#ledger/charges/recover-holds.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { ScriptedChat, used, words } from '../../chat-script.ts'
import { textModel, videoModel } from '../../models/example-models.ts'
import { type OpenedService, openService, TestClock } from '../../open-service.ts'

/** Whether a process dies at this commit, and on which side of it. */
export type KillAt = (ops: readonly Op[]) => 'before' | 'after' | null

/** What one process has of a store that others write to as well. A killed process has no effect any more and hears nothing. */
export class ProcessStore implements Store {
  readonly soleOwner: boolean
  readonly #shared: Store
  readonly #own: readonly Store[]
  killAt: KillAt = () => null
  dead = false
  /** How far the clock of this process is off the database's. */
  differenceMs = 0

  constructor(shared: Store, options: { soleOwner?: boolean; own: readonly Store[] }) {
    this.#shared = shared
    this.#own = options.own
    this.soleOwner = options.soleOwner ?? true
  }

  get read(): Store['read'] {
    if (this.dead) throw new Error('This process is dead.')
    return this.#shared.read
  }

  async clockDifferenceMs(): Promise<number> {
    return this.differenceMs
  }

  async commit(units: readonly Unit[]) {
    const side = this.dead ? 'before' : this.killAt(units.flatMap(unit => unit.ops))
    if (side === null) return this.#shared.commit(units)
    this.dead = true
    if (side === 'after') await this.#shared.commit(units)
    return new Promise<never>(() => undefined)
  }

  prune(...order: Parameters<Store['prune']>) {
    return this.#shared.prune(...order)
  }

  async close(): Promise<void> {
    for (const store of this.#own) await store.close()
  }
}

/** Counts what it was asked to start. */
export class CountingVideo implements VideoEngine {
  readonly carries = () => true
  readonly started: string[] = []
  polls = 0

  async start(call: VideoCall): Promise<JobProgress> {
    this.started.push(call.jobId)
    return { state: 'running', engineState: { at: 'engine' } }
  }

  async poll(): Promise<JobProgress> {
    this.polls++
    return { state: 'running', engineState: { at: 'engine' } }
  }
}

export interface Ask {
  key?: string
  body?: object
  path?: string
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** One process of the service, with scripted engines behind it. */
export interface KeyFixture {
  opened: OpenedService
  store: ProcessStore
  chat: ScriptedChat
  video: CountingVideo
  ask(bearer: string, ask?: Ask): Promise<Response>
}

export const hello = { model: 'scripted', messages: [{ role: 'user', content: 'hello' }] }
export const clip = { model: 'demo-video', prompt: 'Fog', duration: '2s', resolution: '360p', audio: false }

const price = { inputPicoUsd: pricePerMillion('1') ?? 0n, outputPicoUsd: pricePerMillion('10') ?? 0n }

/** 1 micro-USD a prompt token and 10 a completion token. */
export const answerBeats = [...words('one ', 'two ', 'three'), { usage: used(5, 3) }]
export const answerMicroUsd = 35n

export interface FixtureOptions {
  clock?: TestClock
  /** Whose database it writes to; a database of its own where absent. */
  beside?: KeyFixture
  /** Another database than that of SQLite in a folder of its own; it is closed with the process. */
  store?: Store
  soleOwner?: boolean
  chat?: ScriptedChat
  stakes?: StakeReader
}

export async function openKeyFixture(options: FixtureOptions = {}): Promise<KeyFixture> {
  const chat = options.chat ?? new ScriptedChat()
  const video = new CountingVideo()
  let store: ProcessStore | null = null
  const { soleOwner = true, beside } = options
  const opened = await openService({
    clock: options.clock ?? beside?.opened.clock ?? new TestClock(),
    models: () => [textModel({ id: 'scripted', price, tier: 'XS', engine: chat }), videoModel({ engine: video })],
    ...(options.stakes ? { stakes: options.stakes } : {}),
    storeBefore: own => {
      const shared = options.store ?? (beside && sharedBy.get(beside.store)) ?? own
      store = new ProcessStore(shared, { soleOwner, own: options.store ? [own, options.store] : [own] })
      sharedBy.set(store, shared)
      return store
    },
  })
  if (!store) throw new Error('No store was opened.')
  chat.play(answerBeats)
  return { opened, store, chat, video, ask: (bearer, ask) => send(opened, bearer, ask) }
}

const sharedBy = new WeakMap<ProcessStore, Store>()

async function send(opened: OpenedService, bearer: string, ask: Ask = {}): Promise<Response> {
  const { key, body = {}, path = '/chat/completions', headers = {}, signal } = ask
  const standard = path === '/video/queue' ? clip : hello
  return opened.request(`/api/v1${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${bearer}`,
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...headers,
    },
    body: JSON.stringify({ ...standard, ...body }),
    ...(signal ? { signal } : {}),
  })
}

/** A promise that a test resolves. */
export function gate() {
  const { promise: until, resolve: open } = Promise.withResolvers<void>()
  return { until, open }
}

export async function charges(fixture: KeyFixture): Promise<bigint[]> {
  const rows = await fixture.opened.store.read
    .selectFrom('entry')
    .select(({ fn }) => fn.sum<bigint>('amount').as('charged_usd'))
    .where('kind', '=', 'CHARGE')
    .groupBy('request')
    .execute()
  return rows.map(row => BigInt(row.charged_usd))
}

export const claims = (fixture: KeyFixture) => fixture.opened.store.read.selectFrom('claim').selectAll().execute()
export const holds = (fixture: KeyFixture) => fixture.opened.store.read.selectFrom('hold').select('id').execute()

/** Ends every process of a test, the one with the database last. A dead one is only forgotten. */
export async function closeAll(fixtures: readonly KeyFixture[]): Promise<void> {
  for (const fixture of fixtures.toReversed()) {
    if (fixture.store.dead) await fixture.store.close()
    else await fixture.opened.close()
  }
}

/** An image, in which a face may be. */
export const face =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/** Checks pass until a hold that is no longer renewed has been freed. */
export async function looksPass(fixture: KeyFixture): Promise<void> {
  const { clock, store } = fixture.opened
  for (let passedMs = 0; passedMs <= lapsedForMs + recoveryIntervalMs; passedMs += recoveryIntervalMs) {
    clock.pass(recoveryIntervalMs)
    await vi.advanceTimersByTimeAsync(recoveryIntervalMs)
    // Behind what the look has asked the ledger.
    await store.commit([
      { id: `${uuidV7(clock.now())}/look`, ops: [{ op: 'nonce', key: `look ${clock.now()}`, expiresAtMs: 0 }] },
    ])
  }
}
