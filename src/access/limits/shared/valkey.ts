import { createHash } from 'node:crypto'
import { type Clock, isAhead } from '#contract/time.ts'
import { optionalPackage } from '#host/packages.ts'

/** The part of the `redis` package's client that we use. */
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
  /** `redis://…` or `rediss://…`. It may contain a password, so it is never shown. */
  url: string
  /** Called once per change, with the kind of error only. */
  onTrouble(reason: string): void
  onReady(): void
}

/** A connection to Valkey or Redis that fails at once while it is down, and reconnects by itself until it is closed. */
export class Valkey {
  readonly #open: (url: string) => Client
  readonly #url: string
  readonly #listener: Client
  #client: Client
  /** The node of a cluster that has our slot; null while we use the configured address. */
  #movedTo: string | null = null
  #isClosed = false

  private constructor(url: string, open: (url: string) => Client, listener: Client) {
    this.#url = url
    this.#open = open
    this.#listener = listener
    this.#client = open(url)
  }

  /**
   * Does not wait for the server, because the service starts without it. Throws a sentence if the package is missing or
   * the address is invalid.
   */
  static async open({ url, onTrouble, onReady }: ValkeyOptions): Promise<Valkey> {
    const { createClient } = await optionalPackage<Package>('redis', 'Sharing limits between processes')
    const options = {
      disableOfflineQueue: true,
      commandsQueueMaxLength: commandsInFlight,
      socket: { connectTimeout: dialMs, reconnectStrategy: () => redialMs },
    }
    const clientOf = (address: string) =>
      openClient(createClient, { ...options, socket: { ...options.socket }, url: address })
    // A cluster forwards a message to all of its nodes, so any of them will do.
    const listener = clientOf(url)
    // This connection fails together with the first one, which reports it.
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

  /**
   * All keys of a service share a slot, so we use one node of a cluster: the one that has the slot, as long as it is
   * up.
   */
  #follow(place: string): void {
    const at = new URL(this.#url)
    const colon = place.lastIndexOf(':')
    // If no host is given, it is another port of the same host.
    if (colon > 0) at.hostname = place.slice(0, colon)
    at.port = place.slice(colon + 1)
    this.#connect(at.href)
  }

  /** The slots of a lost node may have moved; the configured address can tell where. */
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

  /** Rejects at once if there is no connection. */
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

  /**
   * Delivers messages of a channel from now on, across reconnections. Calls `onListening` when some may have been
   * missed.
   */
  listen(channel: string, listener: (message: string) => void, onListening: () => void): void {
    let isSubscribed = false
    this.#listener.on('ready', () => {
      // The client itself renews a subscription before it reports that it is ready.
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

/** Never the message, because some contain the address. */
function kindOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  if (code) return code
  const [word = ''] = error.message.split(' ', 1)
  return /^[A-Z]{4,20}$/.test(word) ? word : error.name
}

/** Queries a server that may be down: waits a limited time, and pauses after a failure. */
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

  /** Returns null if there is no answer in time. Never rejects. */
  async ask<Value>(run: () => Promise<Value>): Promise<Value | null> {
    const nowMs = this.#clock.now()
    const rests = isAhead(this.#restUntilMs, restMs, nowMs)
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

/**
 * How long a request waits for shared counts before the local ones are used. A healthy server needs one or two
 * milliseconds.
 */
const sharedLimitMs = 100

/** How long local counts are used after a failure, so that in an outage one request a second waits instead of each. */
const restMs = 1_000

/** Further commands fail at once, because a stalled server could not answer them in time. */
const commandsInFlight = 10_000

/** How long to wait before reconnecting to a server that is down. */
const redialMs = 1_000
const dialMs = 2_000

/** Counters live for their minute and the next, for clocks that differ a little. */
export const counterMs = 120_000

/** How often a process announces itself to the others, which forget it after a while. */
export const presenceMs = 10_000
export const forgottenMs = 35_000

/** How many processes are assumed if the shared store never reported a number. */
export const assumedProcesses = 4

/** More processes than this would each admit next to nothing; operators who run more keep the store available. */
export const mostProcesses = 1_000

/** Most blocks to read when a process reconnects to the store. */
export const blocksRead = 10_000
