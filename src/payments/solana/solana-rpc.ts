import { z } from 'zod'
import { rpcRetries, rpcTimeoutMs } from '../bounds.ts'

/** A node answered, and refused. `data` is what it tells about a transaction. */
export class SolanaRefusal extends Error {
  override readonly name = 'SolanaRefusal'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

const Answer = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
})

/** Asks a Solana node. Every question may be repeated; what is sent is told once. */
export class SolanaRpc {
  readonly #url: string
  readonly #signal: AbortSignal | null

  constructor(url: string, signal: AbortSignal | null = null) {
    this.#url = url
    this.#signal = signal
  }

  /** The same node, for questions that all have to be answered in this time. */
  within(timeoutMs: number): SolanaRpc {
    return new SolanaRpc(this.#url, AbortSignal.timeout(timeoutMs))
  }

  /** Rejects with `SolanaRefusal` where the node refuses, and with any other error where it gives no sound answer. */
  async ask<Result>(method: string, params: readonly unknown[], result: z.ZodType<Result>): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      try {
        return result.parse(await this.#askOnce(method, params))
      } catch (error) {
        // Time that ran out, as opposed to a connection that broke, would run out again.
        const isBroken = error instanceof TypeError
        if (!isBroken || attempt === rpcRetries) throw error
      }
    }
  }

  /**
   * Sends a transaction, base64, once. Rejects with `SolanaRefusal` where the node refuses, and then it has not been
   * sent; any other error leaves that open. A second try would hide that the first one may have arrived: another node
   * behind the same address, which is behind its sibling, refuses what that one has taken.
   */
  async send(wire: string, config: object): Promise<void> {
    await this.#askOnce('sendTransaction', [wire, { encoding: 'base64', ...config }])
  }

  async #askOnce(method: string, params: readonly unknown[]): Promise<unknown> {
    const timeout = AbortSignal.timeout(rpcTimeoutMs)
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      redirect: 'error',
      signal: this.#signal ? AbortSignal.any([timeout, this.#signal]) : timeout,
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw new Error(`The node answered with status ${response.status}.`)
    }
    const { result, error } = Answer.parse(await response.json())
    if (error) throw new SolanaRefusal(error.code, error.message, error.data)
    return result
  }
}
