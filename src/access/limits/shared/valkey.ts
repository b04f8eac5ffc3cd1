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
  /** Called for each failure of the connection, with the kind of error only. */
  onTrouble(reason: string): void
  /** Called for each command that the server refuses, with the kind of error only. */
  onRefusal?(reason: string): void
  onReady(): void
  /** How long a server may be silent before the connection is replaced; `silentMs` by default. */
  silentForMs?: number
}

/** A connection to Valkey or Redis that fails at once while it is down, and reconnects by itself until it is closed. */
export class Valkey {
  readonly #options: ValkeyOptions
  readonly #clientOf: (url: string) => Client
  readonly #listener: Client
  readonly #watch: NodeJS.Timeout
  #client: Client
  /** The node of a cluster that has our slot; null while we use the configured address. */
  #movedTo: string | null = null
  /** Since when a connection or an answer is awaited; null while none is. */
  #waitsSinceMs: number | null = null
  #redial: NodeJS.Timeout | null = null
  #isClosed = false

  private constructor(options: ValkeyOptions, clientOf: (url: string) => Client, listener: Client) {
    this.#options = options
    this.#clientOf = clientOf
    this.#listener = listener
    this.#client = this.#dial(options.url)
    const silentForMs = options.silentForMs ?? silentMs
    this.#watch = setInterval(() => this.#endSilence(silentForMs), silentForMs).unref()
  }

  /**
   * Does not wait for the server, because the service starts without it. Throws a sentence if the package is missing or
   * the address is invalid.
   */
  static async open(options: ValkeyOptions): Promise<Valkey> {
    const { createClient } = await optionalPackage<Package>('redis', 'Sharing limits between processes')
    const common = {
      disableOfflineQueue: true,
      commandsQueueMaxLength: commandsInFlight,
      socket: { connectTimeout: dialMs, reconnectStrategy: () => redialMs },
    }
    const clientOf = (url: string) => openClient(createClient, { ...common, socket: { ...common.socket }, url })
    // A cluster forwards a message to all of its nodes, so any of them will do.
    const listener = clientOf(options.url)
    // This connection fails together with the first one, which reports it.
    listener.on('error', () => undefined)
    const valkey = new Valkey(options, clientOf, listener)
    void listener.connect().catch(() => undefined)
    return valkey
  }

  #dial(url: string): Client {
    const client = this.#clientOf(url)
    this.#waitsSinceMs = performance.now()
    client.on('error', error => {
      if (client !== this.#client) return
      // It connects again by itself.
      this.#waitsSinceMs = performance.now()
      this.#options.onTrouble(kindOf(error))
      this.#lost()
    })
    client.on('ready', () => {
      if (client === this.#client) this.#waitsSinceMs = null
      this.#options.onReady()
    })
    void client.connect().catch(() => undefined)
    return client
  }

  /**
   * All keys of a service share a slot, so we use one node of a cluster: the one that has the slot, as long as it is
   * up.
   */
  #follow(place: string): void {
    const at = new URL(this.#options.url)
    const colon = place.lastIndexOf(':')
    const host = place.slice(0, colon)
    // If no host is given, it is another port of the same host.
    if (host) at.hostname = host.includes(':') ? `[${host}]` : host
    at.port = place.slice(colon + 1)
    this.#connect(at.href)
  }

  /** The slots of a lost node may have moved; the configured address can tell where. */
  #lost(): void {
    if (this.#movedTo !== null) this.#connect(null)
  }

  #connect(place: string | null): void {
    if (place !== this.#movedTo) this.#replace(place)
  }

  #replace(place: string | null): void {
    if (this.#isClosed) return
    this.#client.destroy()
    this.#movedTo = place
    this.#client = this.#dial(place ?? this.#options.url)
  }

  /** On a network that drops everything, the system would wait a quarter of an hour before it gives a connection up. */
  #endSilence(silentForMs: number): void {
    if (this.#waitsSinceMs === null || performance.now() - this.#waitsSinceMs < silentForMs) return
    this.#options.onTrouble('no answer')
    this.#replace(null)
  }

  /** After a failover, the address leads to another server, but the connection is still to the former primary. */
  #leaveReplica(): void {
    this.#redial ??= setTimeout(() => {
      this.#redial = null
      this.#replace(null)
    }, redialMs).unref()
  }

  get isReady(): boolean {
    return this.#client.isReady
  }

  /** Rejects at once if there is no connection. */
  async run(wanted: Script, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    this.#waitsSinceMs ??= performance.now()
    try {
      const answer = await this.#send(wanted, [`${keys.length}`, ...keys, ...values.map(String)])
      this.#waitsSinceMs = null
      return answer
    } catch (error) {
      if (error instanceof Error && isReply(error)) this.#refused(error)
      throw error
    }
  }

  async #send({ text, sha }: Script, rest: readonly string[]): Promise<unknown> {
    const client = this.#client
    try {
      return await client.sendCommand(['EVALSHA', sha, ...rest])
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return client.sendCommand(['EVAL', text, ...rest])
    }
  }

  #refused(error: Error): void {
    this.#waitsSinceMs = null
    const place = /^MOVED \d{1,5} \??(\S{0,300}:\d{1,5})$/.exec(error.message)?.[1]
    if (place) this.#follow(place)
    else this.#options.onRefusal?.(kindOf(error))
    if (/\bREADONLY /.test(error.message)) this.#leaveReplica()
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
        error => {
          if (error instanceof Error && isReply(error)) this.#options.onRefusal?.(kindOf(error))
        },
      )
    })
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#watch)
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

/** Whether the server answered with an error; others come from the connection. */
const isReply = (error: Error): boolean => /^[A-Z]{3,20} /.test(error.message)

/** Never the message, because some contain the address. */
function kindOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException
  if (code) return code
  // The client's own classes do not set `name`.
  return isReply(error) ? (error.message.split(' ', 1)[0] ?? '') : error.constructor.name
}

/** Queries a server that may be down: waits a limited time, and pauses after a failure. */
export class Breaker {
  readonly #clock: Clock
  readonly #limitMs: number
  readonly #isReady: () => boolean
  readonly #onLate: () => void
  #restUntilMs = 0
  #lateInARow = 0

  /** `onLate` is called when answers keep coming too late. */
  constructor(options: { clock: Clock; isReady: () => boolean; limitMs?: number; onLate?: () => void }) {
    this.#clock = options.clock
    this.#isReady = options.isReady
    this.#onLate = options.onLate ?? (() => {})
    this.#limitMs = options.limitMs ?? sharedLimitMs
  }

  /** Returns null if there is no answer in time. Never rejects. */
  async ask<Value>(run: () => Promise<Value>): Promise<Value | null> {
    const nowMs = this.#clock.now()
    const rests = isAhead(this.#restUntilMs, restMs, nowMs)
    if (!this.#isReady() || rests) return null
    const { promise: late, resolve } = Promise.withResolvers<null>()
    const timer = setTimeout(() => {
      this.#late()
      resolve(null)
    }, this.#limitMs)
    try {
      const answer = await Promise.race([run().catch(() => null), late])
      if (answer === null) this.#restUntilMs = this.#clock.now() + restMs
      else this.#lateInARow = 0
      return answer
    } finally {
      clearTimeout(timer)
    }
  }

  #late(): void {
    const nowMs = this.#clock.now()
    // Requests that were sent together are late together.
    if (isAhead(this.#restUntilMs, restMs, nowMs)) return
    this.#restUntilMs = nowMs + restMs
    this.#lateInARow++
    if (this.#lateInARow % lateInARowTold === 0) this.#onLate()
  }
}

/**
 * How long a request waits for shared counts before the local ones are used. A healthy server needs one or two
 * milliseconds.
 */
const sharedLimitMs = 100

/** How long local counts are used after a failure, so that in an outage one request a second waits instead of each. */
const restMs = 1_000

/** So many late answers in a row, at most one a second, are more than a moment of load. */
const lateInARowTold = 5

/** Further commands fail at once, because a stalled server could not answer them in time. */
const commandsInFlight = 10_000

/** How long to wait before reconnecting to a server that is down, or has become a replica. */
const redialMs = 1_000

/** A healthy server answers within milliseconds, and one that is this late is no use to a request. */
const silentMs = 5_000

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
