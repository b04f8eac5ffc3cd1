import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKey } from '#access/keys/api-keys.ts'
import { microUsd } from '#contract/money.ts'
import { DemoChat } from '#engines/demo/chat.ts'
import { DemoWeb } from '#engines/demo/web.ts'
import type { ChainNetwork } from '#engines/ports/engine.ts'
import { openWalletAccount, walletAccountId } from '#ledger/accounts/customers.ts'
import { type Store, StoreError } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { demoCharacters } from '#service/capabilities/characters/characters.ts'
import { demoModels } from '#service/models/demo-models.ts'
import type { Model } from '#service/models/model.ts'
import { evmWallet } from '../../access/identity/signed-header.ts'
import { type OpenedService, openService } from '../../service/open-service.ts'
import { doublePayments } from './double-payments.ts'
import { cloningSpeech, DoubleMusic, DoubleVideo } from './double-video.ts'
import type { Asked, Caller } from './recipe.ts'

const refusal = { code: -32_602, message: 'invalid params' }

/** A network that knows one method and refuses the others, and one that never answers. */
export const doubleNetworks: readonly ChainNetwork[] = [
  {
    slug: 'double',
    node: {
      ask: async ({ calls }) =>
        calls.map(({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : { error: refusal })),
    },
  },
  { slug: 'failing', node: { ask: () => Promise.reject(new Error('The node is away.')) } },
]

/** Tells when something has been written, so that who waits for it looks again then, and not by the time of day. */
export class Commits {
  #next = Promise.withResolvers<void>()

  next(): Promise<void> {
    return this.#next.promise
  }

  /** The same store, whose commits are told once they are durable. */
  told(store: Store): Store {
    return {
      read: store.read,
      soleOwner: store.soleOwner,
      prune: (slice, rows) => store.prune(slice, rows),
      close: () => store.close(),
      commit: async units => {
        try {
          return await store.commit(units)
        } finally {
          this.#next.resolve()
          this.#next = Promise.withResolvers()
        }
      },
    }
  }
}

/** The whole service with demonstrations for engines, and switches for what fails. */
export interface Stand {
  opened: OpenedService
  wallet: { address: string; sign(text: string): Promise<string> }
  /** What every model whose id begins with `failing-` throws. */
  failure: unknown
  /** What the ledger throw when they are read; null while they are well. */
  away: Error | null
  /** Resolves when the next units are written, the service's own too. */
  nextCommit(): Promise<void>
  ask(method: string, path: string, asked: Asked): Promise<Response>
  close(): Promise<void>
}

const someVideo = Buffer.from('\0\0\0\x18ftypisom')

export const unreachableLedger = () => new StoreError('unreachable', 'The ledger is unreachable.')

export async function openStand(): Promise<Stand> {
  const state: Pick<Stand, 'failure' | 'away'> = { failure: new Error('The engine failed.'), away: null }
  const folder = await mkdtemp(join(tmpdir(), 'farebox-conformance-'))
  const web = new DemoWeb()
  const commits = new Commits()
  const opened = await openService({
    video: new DoubleVideo(folder),
    chat: new DemoChat({ pause: async () => undefined }),
    models: engines => {
      const demo = [...demoModels({ ...engines, music: new DoubleMusic(folder) }), cloningSpeech]
      return [...demo, ...demo.map(model => failing(model, state))]
    },
    search: web,
    pages: web,
    transcriber: { transcribe: async () => ({ transcript: 'Hello.', lang: 'en' }) },
    fetcher: { fetch: async ({ url }) => ({ url, mimeType: 'video/mp4', charset: null, bytes: someVideo }) },
    characters: demoCharacters,
    networks: doubleNetworks,
    payments: doublePayments,
    storeBefore: real => commits.told(breakable(real, state)),
  })
  const wallet = evmWallet()
  await fund(opened, wallet.address)
  const [rich, poor] = [await opened.key(1_000), await opened.key(0)]
  const { key: admin } = await createKey(
    { keys: opened.service.keys, now: () => opened.clock.now() },
    { amountMicroUsd: microUsd(10_000_000), label: 'admin', role: 'ADMIN' },
  )
  let nonces = 0
  const signIn = () =>
    wallet.header({
      domain: '127.0.0.1:8402',
      uri: 'http://127.0.0.1:8402/api/v1/',
      chain: '8453',
      nonce: (++nonces).toString(16).padStart(16, '0'),
      issuedAt: new Date(opened.clock.now()).toISOString(),
    })
  const credentials: Readonly<Record<Caller, () => Promise<Record<string, string>>>> = {
    key: async () => ({ authorization: `Bearer ${rich}` }),
    admin: async () => ({ authorization: `Bearer ${admin}` }),
    poor: async () => ({ authorization: `Bearer ${poor}` }),
    wallet: async () => ({ 'sign-in-with-x': await signIn() }),
    nobody: async () => ({}),
  }
  const stand: Stand = Object.assign(state, {
    opened,
    wallet,
    nextCommit: () => commits.next(),
    async ask(method: string, path: string, { query = '', headers = {}, body, as = 'key', ...rest }: Asked) {
      const isRaw = body === undefined || body instanceof FormData || typeof body === 'string'
      return opened.request(`/api/v1${rest.path ?? path}${query}`, {
        method,
        headers: {
          ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
          ...(await credentials[as]()),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
      })
    },
    async close() {
      await opened.close()
      await rm(folder, { recursive: true, force: true })
    },
  })
  return stand
}

/** The same model before an engine that throws whatever it is asked. */
function failing(model: Model, state: Pick<Stand, 'failure'>): Model {
  const engine = new Proxy(
    {},
    {
      // What an engine says about itself stays; whatever it is asked fails.
      get(_target, name) {
        const value = Reflect.get(model.engine as object, name)
        if (typeof value !== 'function') return value
        return async () => {
          throw state.failure
        }
      },
    },
  )
  return { ...model, id: `failing-${model.id}`, traits: [], compatibleIds: [], engine } as unknown as Model
}

/** Reads fail while the switch is on; what is written arrives. */
function breakable(real: Store, state: Pick<Stand, 'away'>): Store {
  const read = guarded(real.read, () => {
    if (state.away) throw state.away
  })
  return new Proxy(real, {
    get(target, name) {
      if (name === 'read') return read
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** The same object, whose methods look at something first. */
const guarded = <Target extends object>(object: Target, look: () => void): Target =>
  new Proxy(object, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => {
        look()
        return value.apply(target, given)
      }
    },
  })

async function fund({ clock, store }: OpenedService, address: string): Promise<void> {
  const [atMs, name] = [clock.now(), address.toLowerCase()]
  const account = walletAccountId(name)
  const ref = `grant:${account}:${atMs}`
  const credit = { op: 'credit', account, amount: microUsd(100_000_000), source: 'system:grant', ref, atMs } as const
  await store.commit([{ id: `${uuidV7(atMs)}/fund`, ops: [...openWalletAccount(name, atMs), credit] }])
}
