import { ClientError } from '#client/client-error.ts'
import type { Clock } from '#contract/time.ts'
import type { Fetch } from '../fetch/fetch.ts'
import { notAgain } from '../fetch/refused-answer.ts'
import { asTyped, type WalletPlace } from '../words/as-typed.ts'
import { turnedAway } from './proxy-door.ts'

export interface ProxyOptions {
  /** Pays for what passes. */
  fetch: Fetch
  /** Of the service, with its path. */
  baseUrl: string
  token: string
  clock: Clock
  /** Of the wallet that pays, for what a person can look at. */
  place?: WalletPlace
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Where the API lies behind the proxy: what clients of OpenAI call their base URL, and what those of the service do. */
const prefix = /^\/(?:api\/)?v1(?=\/|$)/

/** Answers one request to the proxy: the service's own answer, or an error in the shape that clients of OpenAI read. */
export async function proxyAnswer(request: Request, port: number, options: ProxyOptions): Promise<Response> {
  const away = turnedAway({ headers: request.headers, port }, options.token)
  if (away) return failed(away.status, away.code, away.message)
  const { pathname, search } = new URL(request.url)
  if (!prefix.test(pathname))
    return failed(404, 'not_found', 'Everything here lies under /v1, as in /v1/chat/completions.')
  if (!methods.has(request.method))
    return failed(405, 'method_not_allowed', 'Use GET, HEAD, POST, PUT, PATCH or DELETE.')
  const target = `${options.baseUrl}${pathname.replace(prefix, '')}${search}`
  try {
    return ofConnection(await options.fetch(target, forwarded(request)))
  } catch (error) {
    // Nobody reads it; whoever left is not told that anything went wrong.
    if (request.signal.aborted) return failed(499, 'client_left', 'The program has left.')
    if (error instanceof ClientError) return clientFailure(error, options)
    throw error
  }
}

/** The body goes on as it comes: whoever pays reads it, and no more of it than a request may have. */
const forwarded = ({ method, headers, signal, body }: Request): RequestInit => ({
  ...{ method, headers, signal },
  ...(body ? { body, duplex: 'half' } : {}),
})

/** Headers that belong to one connection, of which there are two. */
const hopHeaders = ['connection', 'keep-alive', 'proxy-authenticate', 'te', 'trailer', 'transfer-encoding', 'upgrade']

function ofConnection(answer: Response): Response {
  for (const name of hopHeaders) answer.headers.delete(name)
  return answer
}

interface ClientFailure {
  status: number
  message: string
}

/** The error's own sentence stands for what is not here. */
const failures: Readonly<Partial<Record<ClientError['kind'], ClientFailure>>> = {
  unreachable: { status: 502, message: 'The service cannot be reached. Nothing was charged; look whether it runs.' },
  'no-answer': {
    status: 502,
    message:
      'The service took the request and gave no answer; it may have been charged. Look at `farebox wallet receipts`.',
  },
  redirected: { status: 502, message: 'The service answered by a redirect, which is not followed. Check its address.' },
  unreadable: { status: 502, message: 'The service answered what its contract does not know. Check its address.' },
  'too-large': { status: 413, message: 'The request or its answer is too large. Ask for less at once.' },
  'not-allowed': { status: 403, message: 'The request would go to another address than the service’s.' },
}

/** Clients repeat a 5xx by themselves, so it says no to that wherever the first one may have been charged. */
function clientFailure(error: ClientError, { clock, place }: ProxyOptions): Response {
  const waits = error.retryAtMs !== null
  const { status, message } = failures[error.kind] ?? { status: waits ? 429 : 502, message: error.message }
  const seconds = error.retryAtMs === null ? null : Math.max(1, Math.ceil((error.retryAtMs - clock.now()) / 1_000))
  return failed(status, error.kind, asTyped(message, place), {
    ...(error.wasSent ? notAgain : {}),
    ...(seconds === null ? {} : { 'retry-after': `${seconds}` }),
  })
}

const failed = (status: number, code: string, message: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error: { message, type: 'farebox_proxy', param: null, code } }, { status, headers })
