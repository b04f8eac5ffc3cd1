import { Agent, FormData } from 'undici'
import { ServiceError } from '#contract/errors/service-error.ts'
import { upstreamHeaders } from '#host/tracing/tracing.ts'
import { readObject, readRefusal } from './read-answer.ts'
import { aheadBytes, UpstreamAnswer } from './upstream-answer.ts'
import { codeOf, refusalError, transportError } from './upstream-error.ts'
import {
  type EngineProblem,
  type EngineTimeouts,
  idleConnectionMs,
  type UpstreamOptions,
  usualTimeouts,
} from './upstream-options.ts'

/** Largest answer that reports a failure, and how long to wait for its end: its status alone says most. */
const refusalBytes = 64 * 1024
const refusalMs = 2_000

/** A request to the server; `request` is the caller's, whose members an error may name. */
interface UpstreamCall {
  /** Sent as JSON, or as a form. */
  body: Record<string, unknown> | FormData
  request: object
  stream: boolean
  /** The expected content type, if it is neither JSON nor events. */
  type?: RegExp
  signal: AbortSignal
}

/**
 * A server that speaks OpenAI's API at one address: its key, its connections, its timeouts, and our error for each of
 * its failures.
 */
export class OpenAiUpstream {
  readonly timeouts: EngineTimeouts
  readonly #url: URL
  readonly #headers: Record<string, string>
  readonly #onProblem: (problem: EngineProblem) => void
  readonly #agent: Agent

  /** `path` is relative to the base URL. Throws one sentence if the address or the key is invalid. */
  constructor(options: UpstreamOptions, path: string) {
    this.#url = urlOf(options.baseUrl, path)
    this.#headers = authorization(options, this.#url.host)
    this.timeouts = { ...usualTimeouts, ...options.timeouts }
    this.#onProblem = options.onProblem ?? (() => undefined)
    // undici passes it on to Node; its types do not have it.
    const connect = { timeout: this.timeouts.connectMs, highWaterMark: aheadBytes }
    // One connection per call: the upstream's `concurrency` already limits their number.
    this.#agent = new Agent({ keepAliveTimeout: idleConnectionMs, connect })
  }

  /**
   * Returns a 200 of the right type. Throws our error if the server refuses; for a broken connection, pass the error to
   * `known`.
   */
  async post({ body, request, stream, type: wanted, signal }: UpstreamCall): Promise<UpstreamAnswer> {
    const { firstByteMs, answerMs, silenceMs } = this.timeouts
    const isForm = body instanceof FormData
    const accept = stream ? 'text/event-stream' : wanted ? '*/*' : 'application/json'
    const answer = await UpstreamAnswer.to(
      this.#agent,
      {
        origin: this.#url.origin,
        path: `${this.#url.pathname}${this.#url.search}`,
        method: 'POST',
        // A form's content type contains its boundary, which only its writer knows.
        headers: {
          ...this.#headers,
          ...upstreamHeaders(),
          ...(isForm ? {} : { 'content-type': 'application/json' }),
          accept,
        },
        body: isForm ? body : JSON.stringify(body),
        headersTimeout: stream ? firstByteMs : answerMs,
        // Many servers send the headers of a stream at once, so the wait for its first byte is limited below.
        bodyTimeout: stream ? 0 : silenceMs,
      },
      stream ? { signal, silence: { firstMs: firstByteMs, laterMs: silenceMs } } : { signal, timeoutMs: answerMs },
    )
    if (answer.status !== 200) throw await this.#refused(answer, request)
    const type = String(answer.headers['content-type'] ?? '')
    if (!(stream ? /^text\/event-stream\b/i : (wanted ?? /^application\/([\w.-]+\+)?json\b/i)).test(type)) {
      answer.destroy()
      throw new Error('The engine answered with another type of content.')
    }
    return answer
  }

  /** Returns a complete answer as an object, within the time limit for such answers; null for anything else. */
  async json(
    { onHeaders, ...call }: Omit<UpstreamCall, 'stream'> & { onHeaders?: (headers: UpstreamAnswer['headers']) => void },
    mostBytes: number,
  ): Promise<Record<string, unknown> | null> {
    const answer = await this.post({ ...call, stream: false })
    onHeaders?.(answer.headers)
    return readObject(await readText(answer, mostBytes))
  }

  /** Returns a complete answer of a file type as bytes, within the same time limit. */
  async bytes(call: Omit<UpstreamCall, 'stream'> & { type: RegExp }, mostBytes: number): Promise<Buffer> {
    return (await this.post({ ...call, stream: false })).whole(mostBytes)
  }

  /** Turns every failure into our own error; the caller's abort is passed on unchanged. */
  known(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason
    if (error instanceof ServiceError) return error
    this.#onProblem({ host: this.#url.host, status: null, code: codeOf(error) })
    return transportError(error)
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  async #refused(answer: UpstreamAnswer, request: object): Promise<ServiceError> {
    const { status, headers } = answer
    this.#onProblem({ host: this.#url.host, status, code: '' })
    const late = setTimeout(() => answer.destroy(), refusalMs)
    const text = await readText(answer, refusalBytes).catch(() => '')
    clearTimeout(late)
    const retryAfter = typeof headers['retry-after'] === 'string' ? headers['retry-after'] : undefined
    return refusalError({ status, retryAfter, body: readRefusal(text) }, request)
  }
}

/** The package loads its HTTP client on first use; this loads it now. */
export const loadHttpClient = (): FormData => new FormData()

/** Throws a sentence if the address cannot be an engine's. */
export function urlOf(baseUrl: string, path: string): URL {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (!base || !/^https?:$/.test(base.protocol) || base.username || base.password) {
    throw new Error('An engine’s base URL must be http or https, without user name or password.')
  }
  base.pathname = `${base.pathname.replace(/\/+$/, '')}${path}`
  return base
}

/** Throws a sentence if the variable holds no key. */
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
