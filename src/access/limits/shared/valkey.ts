import { createHash } from 'node:crypto'
import type { Clock } from '#contract/time.ts'
import { optionalPackage } from '#host/packages.ts'

/** What we use of a client of the package `redis`. */
interface Client {
  readonly isReady: boolean
  connect(): Promise<unknown>
  sendCommand(words: readonly string[]): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  on(event: 'error' | 'ready', listener: (error: Error) => void): unknown
  destroy(): void
}

interface Package {
  createClient(options: object): Client
}

/** A Lua script; its keys share a hash tag, so that a cluster keeps them together. */
interface Script {
  text: string
  sha: string
}

export const script = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') })

interface ValkeyOptions {
  /** `redis://…`, `rediss://…`; may hold a password, so nobody is shown it. */
  url: string
  /** Told once for each change, by the kind of error alone. */
  onTrouble(reason: string): void
  onReady(): void
}

/** A connection to Valkey or Redis that fails at once while there is none, and dials by itself until it is closed. */
export class Valkey {
  readonly #open: (url: string) => Client
  readonly #url: string
  readonly #listener: Client
  #client: Client
  /** The node of a cluster that has our slot; null where the address itself is asked. */
  #movedTo: string | null = null
  #isClosed = false

  private constructor(url: string, open: (url: string) => Client, listener: Client) {
    this.#url = url
    this.#open = open
    this.#listener = listener
    this.#client = open(url)
  }

  /** Does not wait for the server: the service starts without it. Throws a sentence where the package or the address is none. */
  static async open({ url, onTrouble, onReady }: ValkeyOptions): Promise<Valkey> {
    const { createClient } = await optionalPackage<Package>('redis', 'What processes share of their limits')
    const options = {
      disableOfflineQueue: true,
      commandsQueueMaxLength: commandsUnderWay,
      socket: { connectTimeout: dialMs, reconnectStrategy: () => redialMs },
    }
    const clientOf = (address: string) =>
      openClient(createClient, { ...options, socket: { ...options.socket }, url: address })
    // A cluster tells a message to all of its nodes, so that any of them will do.
    const listener = clientOf(url)
    // The other connection goes the way of the first, and would tell the same.
    listener.on('error', () => undefined)
    const open = (address: string) => {
      const client = clientOf(address)
      client.on('error', error => {
        onTrouble(kindOf(error))
        valkey.#lost(client)
      })
      client.on('ready', () => onReady())
      void client.connect().catch(() => undefined)
      return client
    }
    const valkey = new Valkey(url, open, listener)
    void listener.connect().catch(() => undefined)
    return valkey
  }

  /** All keys of a service share a slot, so a cluster is one node to us: the one that has it, until that is gone. */
  #follow(place: string): void {
    const at = new URL(this.#url)
    const colon = place.lastIndexOf(':')
    // Without a host it is another port of the same one.
    if (colon > 0) at.hostname = place.slice(0, colon)
    at.port = place.slice(colon + 1)
    this.#connect(at.href)
  }

  /** A node that is gone may have handed its slots on; the address that was given knows to whom. */
  #lost(client: Client): void {
    if (client === this.#client && this.#movedTo !== null) this.#connect(null)
  }

  #connect(place: string | null): void {
    if (this.#isClosed || place === this.#movedTo) return
    this.#client.destroy()
    this.#movedTo = place
    this.#client = this.#open(place ?? this.#url)
  }

  get isReady(): boolean {
    return this.#client.isReady
  }

  /** Rejects at once where there is no connection. */
  async run({ text, sha }: Script, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    const rest = [`${keys.length}`, ...keys, ...values.map(String)]
    try {
      return await this.#client.sendCommand(['EVALSHA', sha, ...rest])
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const place = /^MOVED \d{1,5} (\S{1,300}:\d{1,5})$/.exec(error.message)?.[1]
      if (place) this.#follow(place)
      if (!error.message.startsWith('NOSCRIPT')) throw error
      return this.#client.sendCommand(['EVAL', text, ...rest])
    }
  }

  /** Messages of a channel from now on, over every loss of the connection; `onListening` is called when some may have been missed. */
  listen(channel: string, listener: (message: string) => void, onListening: () => void): void {
    let isSubscribed = false
    this.#listener.on('ready', () => {
      // What was subscribed once is renewed by the client itself, before it is ready.
      const subscribed = isSubscribed ? Promise.resolve() : this.#listener.subscribe(channel, listener)
      subscribed.then(
        () => {
          isSubscribed = true
          onListening()
        },
        () => undefined,
      )
    })
  }

  close(): void {
    this.#isClosed = true
    this.#client.destroy()
    this.#listener.destroy()
  }
}

function openClient(createClient: Package['createClient'], options: object): Client {
  try {
    return createClient(options)
  } catch {
    throw new Error(
      '`valkey` is not the address of a Valkey or Redis server; write redis://HOST:PORT, or rediss:// for TLS.',
    )
  }
}

/** Never the message: some repeat the address. */
function kindOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  if (code) return code
  const [word = ''] = error.message.split(' ', 1)
  return /^[A-Z]{4,20}$/.test(word) ? word : error.name
}

/** Asks a server that may be away: waits a bounded time, and pauses after a failure. */
export class Breaker {
  readonly #clock: Clock
  readonly #limitMs: number
  readonly #isReady: () => boolean
  #restUntilMs = 0

  constructor(options: { clock: Clock; isReady: () => boolean; limitMs?: number }) {
    this.#clock = options.clock
    this.#isReady = options.isReady
    this.#limitMs = options.limitMs ?? sharedLimitMs
  }

  /** Null where there is no answer in time. Never rejects. */
  async ask<Value>(run: () => Promise<Value>): Promise<Value | null> {
    const nowMs = this.#clock.now()
    // A clock that was set back far must not make the rest a long one.
    const rests = nowMs < this.#restUntilMs && this.#restUntilMs - nowMs <= restMs
    if (!this.#isReady() || rests) return null
    const { promise: late, resolve } = Promise.withResolvers<null>()
    const timer = setTimeout(() => resolve(null), this.#limitMs)
    try {
      const answer = await Promise.race([run().catch(() => null), late])
      if (answer === null) this.#restUntilMs = this.#clock.now() + restMs
      return answer
    } finally {
      clearTimeout(timer)
    }
  }
}

/** How long a request waits for shared counts; then the own ones answer. A healthy server on a network needs one or two. */
const sharedLimitMs = 100

/** After a failure the own counts answer for so long, so that an outage costs one request a second its wait, not each. */
const restMs = 1_000

/** Commands on their way; more than a stalled server could answer in time. */
const commandsUnderWay = 10_000

/** A server that is away is dialled again after so long. */
const redialMs = 1_000
const dialMs = 2_000

/** Counters live through their minute and the next, for clocks that differ a little. */
export const counterMs = 120_000

/** A process tells the others that it is there, and is forgotten after a while. */
export const presenceMs = 10_000
export const forgottenMs = 35_000

/** How many share the limits where the shared store never said. */
export const assumedProcesses = 4

/** More would let next to nobody in; an operator of more has a store that is not down. */
export const mostProcesses = 1_000

/** Blocks that are read when a process comes back to the store. */
export const blocksRead = 10_000
