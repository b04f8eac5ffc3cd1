import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Settler, WireQuestion } from './settler.ts'

/** What a facilitator may do instead of settling a payment; each of these made some client pay twice. */
export const behaviours = [
  'settles and never answers',
  'settles and answers 500',
  'settles and breaks the connection',
  'settles long after nobody waits any more',
  'answers success before it settles, and again each time',
  'settles and answers garbage',
  'answers success before it settles, then 409',
] as const
export type Behaviour = (typeof behaviours)[number]

export interface Settling {
  settler: Settler
  question: WireQuestion
  response: ServerResponse
  /** How often this payment has come before. */
  before: number
  /** For settling after the answer: longer than the service waits for the chain. */
  lateMs: number
}

const madeUp = (): string =>
  `0x${Array.from({ length: 64 }, () => Math.floor(Math.random() * 16).toString(16)).join('')}`

export const behave: Readonly<Record<Behaviour, (settling: Settling) => Promise<void>>> = {
  async 'settles and never answers'({ settler, question }) {
    await settler.settle(question)
  },

  async 'settles and answers 500'({ settler, question, response }) {
    await settler.settle(question)
    response.writeHead(500).end('Internal Server Error')
  },

  async 'settles and breaks the connection'({ settler, question, response }) {
    await settler.settle(question)
    // Closed and not reset: otherwise a Node process may never exit.
    response.socket?.destroy()
  },

  async 'settles long after nobody waits any more'({ settler, question, response, lateMs }) {
    if (!response.destroyed) await new Promise(resolve => response.once('close', resolve))
    await sleep(lateMs)
    await settler.settle(question)
  },

  async 'answers success before it settles, and again each time'({ settler, question, response, before, lateMs }) {
    answer(response, 200, { success: true, transaction: madeUp(), network: question.paymentPayload.accepted.network })
    if (before > 0) return
    await sleep(lateMs)
    await settler.settle(question)
  },

  async 'settles and answers garbage'({ settler, question, response }) {
    await settler.settle(question)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"success": tru')
  },

  async 'answers success before it settles, then 409'({ settler, question, response, before, lateMs }) {
    if (before > 0)
      return answer(response, 409, { success: false, errorReason: 'duplicate_settlement', transaction: '' })
    answer(response, 200, { success: true, transaction: madeUp(), network: question.paymentPayload.accepted.network })
    await sleep(lateMs)
    await settler.settle(question)
  },
}

export function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
