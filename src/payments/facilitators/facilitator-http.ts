import { Agent, request } from 'undici'
import { parseJson } from '#contract/wire/json.ts'
import { bytesWithin, unreachable } from '#host/network.ts'
import {
  facilitatorAnswerBytes,
  facilitatorAnswerDepth,
  facilitatorConnections,
  facilitatorConnectMs,
  facilitatorSettleMs,
  facilitatorSupportedMs,
  facilitatorVerifyMs,
} from '../bounds.ts'

export type FacilitatorQuestion = 'verify' | 'settle' | 'supported'

export interface FacilitatorRequest {
  question: FacilitatorQuestion
  method: 'GET' | 'POST'
  url: URL
}

/** What signs us in at a facilitator, made for each request anew, because some sign the path. Never logged. */
export type FacilitatorHeaders = (
  request: FacilitatorRequest,
) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>

export interface RemoteFacilitatorSettings {
  /** Of any facilitator of x402 version 2, with its path where it has one; https, or http on this machine. */
  url: string
  /** What signs us in there, made for each request anew; nothing when absent. Never logged. */
  headers?: FacilitatorHeaders
}

export interface FacilitatorAnswer {
  status: number
  /** The JSON of the body; undefined where it is none. */
  body: unknown
}

/** The question certainly did not reach the facilitator. */
export class FacilitatorUnreached extends Error {
  override readonly name = 'FacilitatorUnreached'
}

export const answerMs: Readonly<Record<FacilitatorQuestion, number>> = {
  verify: facilitatorVerifyMs,
  settle: facilitatorSettleMs,
  supported: facilitatorSupportedMs,
}

/** Asks an x402 facilitator. Follows no redirect, because a signed payment is for nobody else. */
export class FacilitatorHttp {
  readonly host: string
  readonly #base: URL
  readonly #headers: FacilitatorHeaders
  readonly #answerMs: Readonly<Record<FacilitatorQuestion, number>>
  readonly #agent = new Agent({ connections: facilitatorConnections, connect: { timeout: facilitatorConnectMs } })

  /** Throws a sentence where the address is not one to send payments to. */
  constructor(options: {
    url: string
    headers: FacilitatorHeaders
    answerMs: Readonly<Record<FacilitatorQuestion, number>>
  }) {
    this.#base = baseOf(options.url)
    this.host = this.#base.host
    this.#headers = options.headers
    this.#answerMs = options.answerMs
  }

  /** Rejects where there was no whole answer in time: then it may have been heard, unless it is `FacilitatorUnreached`. */
  async ask(question: FacilitatorQuestion, body?: object): Promise<FacilitatorAnswer> {
    const method = body ? 'POST' : 'GET'
    const url = new URL(this.#base)
    url.pathname += question
    const deadline = AbortSignal.timeout(this.#answerMs[question])
    const headers = await this.#signIn({ question, method, url })
    try {
      const response = await request(url, {
        dispatcher: this.#agent,
        method,
        headers: { ...headers, accept: 'application/json', ...(body ? { 'content-type': 'application/json' } : {}) },
        body: body ? JSON.stringify(body) : null,
        signal: deadline,
      })
      return { status: response.statusCode, body: await readJson(response.body) }
    } catch (error) {
      throw unreachedOr(error)
    }
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#agent.destroy()
  }

  async #signIn(asked: FacilitatorRequest): Promise<Readonly<Record<string, string>>> {
    try {
      return await this.#headers(asked)
    } catch {
      // Whatever failed in there may hold a secret in its words.
      throw new FacilitatorUnreached('The headers for the facilitator could not be made.')
    }
  }
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

function baseOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : null
  const isPrivate = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.test(url.hostname))
  if (!url || !isPrivate || url.username || url.password || url.search || url.hash) {
    throw new Error(
      'A facilitator’s URL must be https (http on this machine alone), without user, password, query or fragment.',
    )
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/`
  return url
}

async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  const bytes = await bytesWithin(body, facilitatorAnswerBytes)
  if (!bytes) throw new Error('The facilitator’s answer is too large.')
  const parsed = parseJson(bytes.toString('utf8'), facilitatorAnswerDepth)
  return parsed.ok ? parsed.value : undefined
}

/** Of a failure before the first byte of a request, that alone. */
function unreachedOr(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return unreachable.has(code) || code === 'UND_ERR_INVALID_ARG'
    ? new FacilitatorUnreached('The facilitator cannot be reached.', { cause: error })
    : error
}
