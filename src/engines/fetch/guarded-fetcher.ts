import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, type Dispatcher, request as send } from 'undici'
import { ServiceError } from '#contract/errors/service-error.ts'
import { isPublicAddress } from '#contract/wire/network-address.ts'
import { bytesWithin } from '#host/network.ts'
import {
  addressCharacters,
  connectionsPerAddress,
  FetchRefused,
  fetchAnswerMs,
  fetchSilenceMs,
  redirectsAtMost,
  webPorts,
} from './fetcher.ts'

export interface GuardedFetcherOptions {
  /** `host:port` that may be fetched although it is private, such as the operator's own file server. */
  privateHosts?: readonly string[]
  /** Replaces the system's resolver. */
  resolve?: (host: string) => Promise<readonly LookupAddress[]>
}

export interface FetchOrder {
  /** As the caller wrote it. */
  url: string
  /** Largest body; a larger one is refused as soon as its size is known. */
  mostBytes: number
  /** For the whole fetch, including redirects. */
  timeoutMs: number
  /** Value of the `accept` header. */
  accept?: string
  signal: AbortSignal
  /** Called with the number of bytes in each piece of the body; a `ServiceError` that it throws ends the fetch. */
  arrived?: (bytes: number) => void
}

export interface FetchedFile {
  /** The final URL, after redirects. */
  url: string
  /** In lower case and without parameters; empty if the server sends none. */
  mimeType: string
  /** In lower case; null if the server sends none. */
  charset: string | null
  bytes: Buffer
}

/**
 * Fetches URLs from callers, only from the public web: every name is resolved once, all of its addresses must be
 * public, and the connection goes to the checked address. Each redirect is checked again (security G1).
 */
export class GuardedFetcher {
  readonly #privateHosts: ReadonlySet<string>
  readonly #resolve: NonNullable<GuardedFetcherOptions['resolve']>
  /** Connects only to public addresses. */
  readonly #guarded: Agent
  /** Connects to listed hosts, whatever their names resolve to. */
  readonly #trusting: Agent

  constructor({ privateHosts = [], resolve = resolveBySystem }: GuardedFetcherOptions = {}) {
    this.#privateHosts = new Set(privateHosts)
    this.#resolve = resolve
    this.#guarded = agentFor(host => this.#publicAddressesOf(host))
    this.#trusting = agentFor(host => this.#resolve(host))
  }

  /** Throws `FetchRefused`, the signal's reason, or what `arrived` throws. */
  async fetch(order: FetchOrder): Promise<FetchedFile> {
    const deadline = AbortSignal.timeout(order.timeoutMs)
    const signal = AbortSignal.any([order.signal, deadline])
    try {
      let url = this.checked(order.url)
      for (let hop = 0; hop <= redirectsAtMost; hop++) {
        const response = await this.#ask(url, { ...order, signal })
        const next = redirectOf(response, url)
        if (next === null) return await fileOf(response, url, order)
        // The body of a redirect is not needed.
        response.body.destroy()
        url = this.checked(next)
      }
      throw new FetchRefused('unreachable', `it redirects more than ${redirectsAtMost} times`)
    } catch (error) {
      order.signal.throwIfAborted()
      if (error instanceof ServiceError) throw error
      throw FetchRefused.of(error, deadline.aborted)
    }
  }

  /** Returns the URL as it would be fetched. Throws `FetchRefused` for one that never will be. */
  checked(text: string): URL {
    if (text.length > addressCharacters || !URL.canParse(text)) {
      throw new FetchRefused('address', 'must be a URL that begins with https:// or http://')
    }
    const url = new URL(text)
    if (url.protocol !== 'https:' && url.protocol !== 'http:') {
      throw new FetchRefused('address', 'must be a URL that begins with https:// or http://')
    }
    if (url.username || url.password) throw new FetchRefused('address', 'must not contain a user name or password')
    if (this.#isPrivateHost(url)) return url
    if (!webPorts.has(url.port)) throw new FetchRefused('address', 'must be on port 80 or 443')
    const host = plainHost(url)
    if (isIP(host) && !isPublicAddress(host)) throw notPublic()
    return url
  }

  async close(): Promise<void> {
    await Promise.all([this.#guarded.destroy(), this.#trusting.destroy()])
  }

  async #ask(url: URL, { accept, signal }: FetchOrder): Promise<Dispatcher.ResponseData> {
    const response = await send(url, {
      method: 'GET',
      headers: { accept: accept ?? '*/*', 'accept-encoding': 'identity', 'user-agent': 'farebox' },
      // A listed host is trusted only on its listed port; on other ports it is treated like any host.
      dispatcher: this.#isPrivateHost(url) ? this.#trusting : this.#guarded,
      signal,
    })
    // A body that is abandoned reports an error that nothing waits for.
    response.body.on('error', () => undefined)
    return response
  }

  #isPrivateHost({ host, port, protocol }: URL): boolean {
    return this.#privateHosts.has(port ? host : `${host}:${protocol === 'https:' ? 443 : 80}`)
  }

  async #publicAddressesOf(host: string): Promise<readonly LookupAddress[]> {
    const addresses = await this.#resolve(host)
    if (!addresses.length || addresses.some(({ address }) => !isPublicAddress(address))) throw notPublic()
    return addresses
  }
}

type AddressesOf = (host: string) => Promise<readonly LookupAddress[]>

const agentFor = (addressesOf: AddressesOf): Agent =>
  new Agent({
    connections: connectionsPerAddress,
    // A name is tied to the addresses that it had at one time; the next fetch resolves it again.
    pipelining: 0,
    connect: { lookup: lookupBy(addressesOf), timeout: fetchAnswerMs },
    headersTimeout: fetchAnswerMs,
    bodyTimeout: fetchSilenceMs,
  })

/** Node connects only to the returned addresses, so a second DNS answer has no effect. */
const lookupBy =
  (addressesOf: AddressesOf): LookupFunction =>
  (host, { all }, done) => {
    addressesOf(host).then(
      addresses => {
        const [first] = addresses
        if (all) done(null, [...addresses])
        else done(null, first?.address ?? '', first?.family)
      },
      error => done(error, ''),
    )
  }

const notPublic = () => new FetchRefused('address', 'must be a public address')

/** Returns the host, an IPv6 address without its brackets. */
const plainHost = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

const resolveBySystem = (host: string): Promise<LookupAddress[]> =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true, order: 'verbatim' }, (error, addresses) =>
      error ? reject(error) : resolve(addresses),
    )
  })

function redirectOf({ statusCode, headers }: Dispatcher.ResponseData, from: URL): string | null {
  if (![301, 302, 303, 307, 308].includes(statusCode)) return null
  const { location } = headers
  if (typeof location !== 'string' || !URL.canParse(location, from.href)) {
    throw new FetchRefused('unreachable', 'its redirect has no valid target')
  }
  return new URL(location, from).href
}

async function fileOf(response: Dispatcher.ResponseData, url: URL, order: FetchOrder): Promise<FetchedFile> {
  const { mostBytes, arrived } = order
  const { statusCode, headers, body } = response
  const refuse = (reason: FetchRefused['reason'], problem: string) => {
    body.destroy()
    return new FetchRefused(reason, problem)
  }
  if (statusCode !== 200) throw refuse('unreachable', `its server answered ${statusCode}`)
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase()
  if (encoding !== 'identity') throw refuse('unreachable', 'its server only sends compressed content')
  const tooLarge = () => refuse('too_large', `it has more than ${mostBytes} bytes`)
  if (Number(headers['content-length'] ?? 0) > mostBytes) throw tooLarge()
  const bytes = await bytesWithin(body, mostBytes, arrived)
  if (!bytes) throw tooLarge()
  return { url: url.href, ...typeOf(headers['content-type']), bytes }
}

function typeOf(header: string | string[] | undefined): Pick<FetchedFile, 'mimeType' | 'charset'> {
  const [mimeType = '', ...parameters] = String(header ?? '')
    .toLowerCase()
    .split(';')
  const charset = parameters.map(each => /^\s*charset\s*=\s*"?([\w.:-]{1,40})"?\s*$/.exec(each)?.[1]).find(Boolean)
  return { mimeType: mimeType.trim(), charset: charset ?? null }
}
