import { Agent, request as send } from 'undici'
import { z } from 'zod'
import { type RpcCall, RpcResult } from '#contract/operations/rpc.ts'
import { parseJson } from '#contract/wire/json.ts'
import { bytesWithin, unreachable } from '#host/network.ts'
import type { ChainNode, NodeCall } from '../ports/engine.ts'

export interface JsonRpcNodeOptions {
  /** Where nodes of one network answer; the next is asked where nobody is at one. A key in an address stays here. */
  urls: readonly [string, ...string[]]
  timeoutMs?: number
}

const Answers = z.array(RpcResult.extend({ id: z.number().int() }))

/** Nodes of the operator's that speak JSON-RPC over HTTP. They are asked where they are, and nowhere that they send us. */
export class JsonRpcNode implements ChainNode {
  readonly #urls: readonly string[]
  readonly #timeoutMs: number
  readonly #agent = new Agent({ connections: nodeConnections, connect: { timeout: nodeConnectMs } })

  /** Throws one sentence, which repeats no address, where one cannot be used. */
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

  /** Ends all connections. */
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
      // A redirect is none that anyone follows.
      if (statusCode !== 200) throw new Error(`The node answered ${statusCode}.`)
      return await readJson(answer)
    } finally {
      answer.destroy()
    }
  }
}

/** What a caller wrote beyond the protocol is not for a node. */
const asSent = ({ method, params = [] }: RpcCall, id: number) => ({ jsonrpc: '2.0', id, method, params })

const isAway = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && unreachable.has(String(error.code))

async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  const bytes = await bytesWithin(body, nodeAnswerBytes)
  if (!bytes) throw new Error('The answer of the node is too large.')
  const parsed = parseJson(bytes.toString('utf8'), nodeAnswerDepth)
  if (!parsed.ok) throw new Error(`The answer of the node ${parsed.reason}.`)
  return parsed.value
}

/** One result for each call, in their order, whatever order the node has. */
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

/** How long a node may take for a call or a batch. */
export const nodeAnswerMs = 30_000

/** Until a connection to a node stands. */
export const nodeConnectMs = 5_000

/** A whole answer: a block with all receipts is a few megabytes. */
export const nodeAnswerBytes = 16 * 1024 * 1024

/** Connections to one node. */
export const nodeConnections = 64

/** Nesting of a node's answer; call traces are the deepest. */
export const nodeAnswerDepth = 512
