import { createHash } from 'node:crypto'
import { optionalPackage } from '../../optional-package.ts'
import { commandsUnderWay, dialMs, redialMs } from './bounds.ts'

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
export interface Script {
  text: string
  sha: string
}

export const script = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') })

export interface ValkeyOptions {
  /** `redis://…`, `rediss://…`; may hold a password, so nobody is shown it. */
  url: string
  /** Told once for each change, by the kind of error alone. */
  onTrouble(reason: string): void
  onReady(): void
}

/** A connection to Valkey or Redis that fails at once while there is none, and dials by itself until it is closed. */
export class Valkey {
  readonly #client: Client
  readonly #listener: Client

  private constructor(client: Client, listener: Client) {
    this.#client = client
    this.#listener = listener
  }

  /** Does not wait for the server: the service starts without it. Throws a sentence where the package or the address is none. */
  static async open({ url, onTrouble, onReady }: ValkeyOptions): Promise<Valkey> {
    const { createClient } = await optionalPackage<Package>('redis', 'What processes share of their limits')
    const options = {
      url,
      disableOfflineQueue: true,
      commandsQueueMaxLength: commandsUnderWay,
      socket: { connectTimeout: dialMs, reconnectStrategy: () => redialMs },
    }
    const [client, listener] = [openClient(createClient, options), openClient(createClient, options)]
    client.on('error', error => onTrouble(kindOf(error)))
    client.on('ready', () => onReady())
    // The other connection goes the way of the first, and would tell the same.
    listener.on('error', () => undefined)
    for (const each of [client, listener]) void each.connect().catch(() => undefined)
    return new Valkey(client, listener)
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
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
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
    this.#client.destroy()
    this.#listener.destroy()
  }
}

function openClient(createClient: Package['createClient'], options: object): Client {
  try {
    return createClient(options)
  } catch {
    throw new Error(
      '`valkey` is no address of a Valkey or Redis server; write redis://HOST:PORT, or rediss:// with TLS.',
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
