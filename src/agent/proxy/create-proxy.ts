import { randomBytes } from 'node:crypto'
import { ClientError } from '#client/client-error.ts'
import type { Clock } from '#contract/time.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { isSameSecret } from '#host/signatures/signatures.ts'
import { payingFetch } from '../fetch/paying-fetch.ts'
import { type Fetch, notAgain } from '../fetch/refused-answer.ts'
import { openLoopbackServer } from '../loopback/loopback-server.ts'
import { agentFromSettings, closeAgent } from '../open-agent.ts'
import type { AgentSettings } from '../settings/settings.ts'
import { cannotPay } from '../words/explain.ts'
import { asTyped, placeOf, typedWords, type WalletPlace } from '../words/typed-commands.ts'

/** Random bytes of a token of ours. */
const tokenBytes = 24

/** How long answers in flight may take when the proxy is stopped, in milliseconds. */
const proxyDrainMs = 5_000

/** A running proxy, and the facts to show the user who started it. */
export interface RunningProxy {
  url: string
  /** The API key for programs. */
  token: string
  serviceUrl: string
  /** The wallet's address; null if an API key pays. */
  wallet: string | null
  close(): Promise<void>
}

/**
 * Opens an address on this machine that pays for any program with its token, under the policy of the settings. Throws a
 * `ToolFailure` if there is nothing to pay with, a `WalletRefusal` for a wrong passphrase, Node's own error for a taken
 * port.
 */
export async function createProxy(
  settings: AgentSettings,
  passphrase: string | null,
  port: number,
): Promise<RunningProxy> {
  const agent = await agentFromSettings(settings, passphrase)
  try {
    if (agent.pays === 'nothing') throw typedWords(cannotPay(agent, 'farebox proxy'), placeOf(agent))
    const token = settings.proxyToken ?? `fbx_${randomBytes(tokenBytes).toString('base64url')}`
    // A request may be written by a model, so a consent in it counts for nothing.
    const fetch = payingFetch(agent, { unpriced: settings.unpricedCalls, takesConsents: false })
    const { baseUrl } = agent.client.address
    const proxy = await openProxy({ port, fetch, baseUrl, token, clock: agent.clock, place: placeOf(agent) })
    const close = async () => {
      await proxy.close()
      await closeAgent(agent)
    }
    return { url: proxy.url, token, serviceUrl: baseUrl, wallet: agent.wallet?.address ?? null, close }
  } catch (error) {
    await closeAgent(agent)
    throw error
  }
}

export interface Proxy {
  /** The base URL for OpenAI's clients. */
  url: string
  /** Stops accepting requests, and lets answers in flight finish for a moment. */
  close(): Promise<void>
}

/** Listens only on loopback; port 0 lets the system choose. Rejects with Node's own error if the port is taken. */
export async function openProxy({ port, ...options }: ProxyOptions & { port: number }): Promise<Proxy> {
  const server = await openLoopbackServer(port, (request, ours) => proxyAnswer(request, ours, options))
  return { url: `http://127.0.0.1:${server.port}/v1`, close: () => server.close(proxyDrainMs) }
}

export interface ProxyOptions {
  /** Pays for the requests. */
  fetch: Fetch
  /** The service's, including its path. */
  baseUrl: string
  token: string
  clock: Clock
  /** The wallet that pays, for commands shown to the user. */
  place?: WalletPlace
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** The paths of the API on the proxy: OpenAI's clients and the service's use different base URLs. */
const prefix = /^\/(?:api\/)?v1(?=\/|$)/

/**
 * Answers one request to the proxy: with the service's own answer, or an error in the shape that OpenAI's clients
 * parse.
 */
async function proxyAnswer(request: Request, port: number, options: ProxyOptions): Promise<Response> {
  const away = turnedAway({ headers: request.headers, port }, options.token)
  if (away) return failed(away.status, away.code, away.message)
  const { pathname, search } = new URL(request.url)
  if (!prefix.test(pathname)) return failed(404, 'not_found', 'All paths begin with /v1, such as /v1/chat/completions.')
  if (!methods.has(request.method))
    return failed(405, 'method_not_allowed', 'Use GET, HEAD, POST, PUT, PATCH or DELETE.')
  const target = `${options.baseUrl}${pathname.replace(prefix, '')}${search}`
  try {
    return ofConnection(await options.fetch(target, forwarded(request)))
  } catch (error) {
    // The caller has left, so it reads no answer.
    if (request.signal.aborted) return failed(499, 'client_left', 'The client disconnected.')
    if (error instanceof ClientError) return clientFailure(error, options)
    throw error
  }
}

/** The body is passed on as a stream: `fetch` reads it, up to the largest allowed request. */
const forwarded = ({ method, headers, signal, body }: Request): RequestInit => ({
  ...{ method, headers, signal },
  ...(body ? { body, duplex: 'half' } : {}),
})

/** Headers of a single connection; the proxy has two. */
const hopHeaders = ['connection', 'keep-alive', 'proxy-authenticate', 'te', 'trailer', 'transfer-encoding', 'upgrade']

function ofConnection(answer: Response): Response {
  for (const name of hopHeaders) answer.headers.delete(name)
  return answer
}

interface ClientFailure {
  status: number
  message: string
}

const unreachable = (baseUrl: string): ClientFailure => ({
  status: 502,
  message: `The service at ${baseUrl} cannot be reached. Nothing was charged. Check whether it is running.`,
})

/** For kinds that are not listed, the error's own sentence is used. */
const failures: Readonly<Partial<Record<ClientError['kind'], ClientFailure>>> = {
  'no-answer': {
    status: 502,
    message:
      'The service received the request but gave no answer, so it may have charged it. Check `farebox wallet receipts`.',
  },
  redirected: {
    status: 502,
    message: 'The service answered with a redirect, which is not followed. Check its address.',
  },
  unreadable: {
    status: 502,
    message: 'The service gave an answer that does not match the API description. Check its address.',
  },
  'too-large': { status: 413, message: 'The request or its answer is too large. Ask for less in one call.' },
  'not-allowed': { status: 403, message: 'The request would go to a different address than the service’s.' },
}

/** Clients retry a 5xx automatically, so the answer forbids that whenever the first attempt may have been charged. */
function clientFailure(error: ClientError, { baseUrl, clock, place }: ProxyOptions): Response {
  const waits = error.retryAtMs !== null
  const { status, message } =
    error.kind === 'unreachable'
      ? unreachable(baseUrl)
      : (failures[error.kind] ?? { status: waits ? 429 : 502, message: error.message })
  const seconds = error.retryAtMs === null ? null : Math.max(1, Math.ceil((error.retryAtMs - clock.now()) / 1_000))
  return failed(status, error.kind, asTyped(message, place), {
    ...(error.wasSent ? notAgain : {}),
    ...(seconds === null ? {} : { 'retry-after': `${seconds}` }),
  })
}

const failed = (status: number, code: string, message: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error: { message, type: 'farebox_proxy', param: null, code } }, { status, headers })

interface ProxyRequest {
  headers: Headers
  port: number
}

/** Why a request is not accepted: it spends money, so it must come from a program on this machine with the token. */
interface TurnedAway {
  status: 401 | 403
  code: string
  message: string
}

/**
 * Returns null for a request that may pass. A web page can reach loopback under any name that its owner's DNS defines,
 * so the host must be a loopback name, and any `Origin` is refused.
 */
function turnedAway({ headers, port }: ProxyRequest, token: string): TurnedAway | null {
  const host = headers.get('host') ?? ''
  const asked = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : null
  if (!asked || !isLoopback(asked.hostname) || Number(asked.port || 80) !== port) return wrongHost
  if (headers.has('origin')) return fromPage
  const given = /^bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? ''
  return isSameSecret(given, token) ? null : wrongToken
}

const wrongHost: TurnedAway = {
  status: 403,
  code: 'wrong_host',
  message: 'This proxy can only be called at 127.0.0.1 or localhost. Use the address that `farebox proxy` printed.',
}

const fromPage: TurnedAway = {
  status: 403,
  code: 'from_a_page',
  message: 'This proxy does not serve web pages. Make the call from a program on this machine instead.',
}

const wrongToken: TurnedAway = {
  status: 401,
  code: 'wrong_token',
  message: 'Send the token that `farebox proxy` printed as `Authorization: Bearer TOKEN`.',
}
