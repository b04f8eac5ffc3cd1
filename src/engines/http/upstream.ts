import { Agent, FormData } from 'undici'
import { ServiceError } from '#contract/errors/service-error.ts'
import { upstreamHeaders } from '#host/tracing/tracing.ts'
import { readObject } from './read-answer.ts'
import { UpstreamAnswer } from './upstream-answer.ts'
import { codeOf, refusalError, transportError } from './upstream-error.ts'
import {
  type EngineProblem,
  type EngineTimeouts,
  idleConnectionMs,
  type UpstreamOptions,
  usualTimeouts,
} from './upstream-options.ts'

/** Of an answer that says what went wrong. */
const refusalBytes = 64 * 1024

/** One request to the server; `request` is the caller's, whose members an error may name. */
interface UpstreamCall {
  /** As JSON, or as a form. */
  body: Record<string, unknown> | FormData
  request: object
  stream: boolean
  /** Of the answer, where it is neither JSON nor events. */
  type?: RegExp
  signal: AbortSignal
}

/** One address of a server that speaks OpenAI's API: its key, its connections, its time-outs, and our error for each of its faults. */
export class OpenAiUpstream {
  readonly timeouts: EngineTimeouts
  readonly #url: URL
  readonly #headers: Record<string, string>
  readonly #onProblem: (problem: EngineProblem) => void
  readonly #agent: Agent

  /** `path` is that below the base URL. Throws one sentence where the address or the key cannot be used. */
  constructor(options: UpstreamOptions, path: string) {
    this.#url = urlOf(options.baseUrl, path)
    this.#headers = authorization(options, this.#url.host)
    this.timeouts = { ...usualTimeouts, ...options.timeouts }
    this.#onProblem = options.onProblem ?? (() => undefined)
    // As many connections as there are calls: their number is bounded before they come here, by the upstream's `concurrency`.
    this.#agent = new Agent({
      keepAliveTimeout: idleConnectionMs,
      connect: { timeout: this.timeouts.connectMs },
    })
  }

  /** A 200 of the right type. Throws our error for a refusal; what a broken connection throws is for `known`. */
  async post({ body, request, stream, type: wanted, signal }: UpstreamCall): Promise<UpstreamAnswer> {
    const isForm = body instanceof FormData
    const accept = stream ? 'text/event-stream' : wanted ? '*/*' : 'application/json'
    const answer = await UpstreamAnswer.to(
      this.#agent,
      {
        origin: this.#url.origin,
        path: `${this.#url.pathname}${this.#url.search}`,
        method: 'POST',
        // The type of a form names its boundary, which only its writer knows.
        headers: {
          ...this.#headers,
          ...upstreamHeaders(),
          ...(isForm ? {} : { 'content-type': 'application/json' }),
          accept,
        },
        body: isForm ? body : JSON.stringify(body),
        headersTimeout: stream ? this.timeouts.firstByteMs : this.timeouts.answerMs,
        bodyTimeout: this.timeouts.silenceMs,
      },
      { signal, timeoutMs: stream ? undefined : this.timeouts.answerMs },
    )
    if (answer.status !== 200) throw await this.#refused(answer, request)
    const type = String(answer.headers['content-type'] ?? '')
    if (!(stream ? /^text\/event-stream\b/i : (wanted ?? /^application\/([\w.-]+\+)?json\b/i)).test(type)) {
      answer.destroy()
      throw new Error('The engine answered with another type of content.')
    }
    return answer
  }

  /** A whole answer within the time that such a one may take, as an object; null for anything else. */
  async json(
    { onHeaders, ...call }: Omit<UpstreamCall, 'stream'> & { onHeaders?: (headers: UpstreamAnswer['headers']) => void },
    mostBytes: number,
  ): Promise<Record<string, unknown> | null> {
    const answer = await this.post({ ...call, stream: false })
    onHeaders?.(answer.headers)
    return readObject(await readText(answer, mostBytes))
  }

  /** The same for a file of a type. */
  async bytes(call: Omit<UpstreamCall, 'stream'> & { type: RegExp }, mostBytes: number): Promise<Buffer> {
    return (await this.post({ ...call, stream: false })).whole(mostBytes)
  }

  /** Every failure becomes an error of ours; the caller's own abort stays what it is. */
  known(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason
    if (error instanceof ServiceError) return error
    this.#onProblem({ host: this.#url.host, status: null, code: codeOf(error) })
    return transportError(error)
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#agent.destroy()
  }

  async #refused(answer: UpstreamAnswer, request: object): Promise<ServiceError> {
    const { status, headers } = answer
    this.#onProblem({ host: this.#url.host, status, code: '' })
    const text = await readText(answer, refusalBytes).catch(() => '')
    const retryAfter = typeof headers['retry-after'] === 'string' ? headers['retry-after'] : undefined
    return refusalError({ status, retryAfter, body: readObject(text) }, request)
  }
}

/** The package leaves what asks servers for the first who does; this is that first one. */
export const loadHttpClient = (): FormData => new FormData()

/** Throws a sentence where the address cannot be an engine's. */
export function urlOf(baseUrl: string, path: string): URL {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (!base || !/^https?:$/.test(base.protocol) || base.username || base.password) {
    throw new Error('An engine’s base URL must be http or https, without user name or password.')
  }
  base.pathname = `${base.pathname.replace(/\/+$/, '')}${path}`
  return base
}

/** Throws a sentence where the variable holds no key. */
export function authorization(options: UpstreamOptions, host: string): Record<string, string> {
  const { apiKeyVariable: name, environment = process.env } = options
  if (name === undefined) return {}
  const key = environment[name]
  if (!key || !/^[\x21-\x7e]{1,4096}$/.test(key)) {
    throw new Error(`The engine at ${host} takes its key from ${name}: set that variable to a key without spaces.`)
  }
  return { authorization: `Bearer ${key}` }
}

const readText = async (answer: UpstreamAnswer, most: number): Promise<string> =>
  (await answer.whole(most)).toString('utf8')
