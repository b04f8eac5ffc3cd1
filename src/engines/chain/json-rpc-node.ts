import { Agent, request as send } from 'undici'
import { z } from 'zod'
import { answerValues } from '#contract/limits.ts'
import { type RpcCall, RpcResult } from '#contract/operations/rpc.ts'
import { listOf } from '#contract/schemas.ts'
import { parseJson } from '#contract/wire/json.ts'
import { bytesWithin, unreachable } from '#host/network.ts'
import type { ChainNode, NodeCall } from '../ports/engine.ts'

export interface JsonRpcNodeOptions {
  /** URLs of one network's nodes; if one is unreachable, the next is used. A key in a URL is never shown. */
  urls: readonly [string, ...string[]]
  timeoutMs?: number
}

const Answers = listOf(RpcResult.extend({ id: z.number().int() }))

/** The operator's nodes that speak JSON-RPC over HTTP. Redirects are not followed. */
export class JsonRpcNode implements ChainNode {
  readonly #urls: readonly string[]
  readonly #timeoutMs: number
  readonly #agent = new Agent({ connections: nodeConnections, connect: { timeout: nodeConnectMs } })

  /** Throws one sentence, without the address, if an address is invalid. */
  constructor({ urls, timeoutMs = nodeAnswerMs }: JsonRpcNodeOptions) {
    for (const url of urls) {
      if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
        throw new Error('The address of a chain node must begin with http:// or https://.')
      }
    }
    this.#urls = urls
    this.#timeoutMs = timeoutMs
  }

  async ask({ calls, signal }: NodeCall): Promise<RpcResult[]> {
    const late = AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)])
    let failure: unknown
    for (const url of this.#urls) {
      try {
        return inOrder(await this.#post(url, calls.map(asSent), late), calls.length)
      } catch (error) {
        if (!isAway(error)) throw error
        failure = error
      }
    }
    throw failure
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  async #post(url: string, body: readonly object[], signal: AbortSignal): Promise<unknown> {
    const { statusCode, body: answer } = await send(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
      dispatcher: this.#agent,
      signal,
    })
    answer.on('error', () => undefined)
    try {
      // A redirect fails here too.
      if (statusCode !== 200) throw new Error(`The node answered ${statusCode}.`)
      return await readJson(answer)
    } finally {
      answer.destroy()
    }
  }
}

/** Members beyond the protocol are not forwarded to a node. */
const asSent = ({ method, params = [] }: RpcCall, id: number) => ({ jsonrpc: '2.0', id, method, params })

const isAway = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && unreachable.has(String(error.code))

async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  const bytes = await bytesWithin(body, nodeAnswerBytes)
  if (!bytes) throw new Error('The answer of the node is too large.')
  const parsed = parseJson(bytes.toString('utf8'), nodeAnswerDepth, answerValues)
  if (!parsed.ok) throw new Error(`The answer of the node ${parsed.reason}.`)
  return parsed.value
}

/** Returns one result per call in the order of the calls, whatever the node's order. */
function inOrder(answer: unknown, count: number): RpcResult[] {
  const byId = new Map(Answers.parse(answer).map(each => [each.id, each]))
  return Array.from({ length: count }, (_, id) => {
    const found = byId.get(id)
    if (!found || (found.error === undefined) === (found.result === undefined)) {
      throw new Error('The node did not answer a call of the batch.')
    }
    return found
  })
}

/** Timeout of a node for a call or batch. */
export const nodeAnswerMs = 30_000

/** Timeout of connecting to a node. */
export const nodeConnectMs = 5_000

/** Largest answer: a block with all receipts is a few megabytes. */
export const nodeAnswerBytes = 16 * 1024 * 1024

export const nodeConnections = 64

/** Maximum nesting of a node's answer; call traces are the deepest. */
export const nodeAnswerDepth = 512
