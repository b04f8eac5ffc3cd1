import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { chainQuestionMs, chainQuestions, chainRetryMs } from '../bounds.ts'

/** Where one rail's payments go. */
export interface Payee {
  /** CAIP-2. */
  network: string
  asset: string
  /** What the chain lists transfers under: the payee's address, or its token account. */
  account: string
}

export interface Transfer {
  transaction: string
  /** Base units of USDC, which are micro-USD. */
  amount: bigint
  /** What a payment by this transfer is known by in the books; null where it can be none. */
  paymentKey(): Promise<string | null>
}

/** What reached a payee, told by its chain. One a rail. */
export interface TransferSource {
  /** Every transfer since that time that the chain has now; earlier ones may come with them. */
  transfers(payee: Payee, sinceMs: number): AsyncIterable<Transfer>
}

/** A node that gave no sound answer, in words that repeat neither its address nor what it said. */
export class NodeFailed extends Error {
  /** Whether it answered, and would not do what was asked. */
  readonly refused: boolean

  constructor(message: string, refused: boolean, options?: ErrorOptions) {
    super(message, options)
    this.name = 'NodeFailed'
    this.refused = refused
  }
}

const Answer = z.object({ result: z.unknown().optional(), error: z.object({ code: z.number() }).optional() })

/** Asks a node by JSON-RPC; what it does not answer it is asked again, with longer and longer pauses. */
export async function askNode<Result>(
  url: string,
  method: string,
  params: readonly unknown[],
  result: z.ZodType<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce(url, method, params, result)
    } catch (error) {
      const refused = error instanceof NodeFailed && error.refused
      if (refused || attempt === chainQuestions) throw asFailure(error, method)
      await sleep(chainRetryMs * 2 ** (attempt - 1))
    }
  }
}

const asFailure = (error: unknown, method: string): NodeFailed =>
  error instanceof NodeFailed ? error : new NodeFailed(`The node does not answer ${method}.`, false, { cause: error })

async function askOnce<Result>(url: string, method: string, params: readonly unknown[], result: z.ZodType<Result>) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    redirect: 'error',
    signal: AbortSignal.timeout(chainQuestionMs),
  })
  const answer = Answer.safeParse(await response.json())
  if (answer.data?.error) throw new NodeFailed(`The node refuses ${method} (${answer.data.error.code}).`, true)
  if (!response.ok || !answer.success) throw new NodeFailed(`The node does not answer ${method}.`, false)
  return result.parse(answer.data.result)
}
