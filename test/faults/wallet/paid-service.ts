import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { paymentRequired, paymentResponse, paymentSignature } from '#contract/wire/headers.ts'
import { evmNetwork } from '#contract/wire/networks.ts'
import { creditRequired, option } from '../../agent/pretend-service.ts'
import { answerJson, type Handler, littleServer, type Seen } from '../../client/little-server.ts'
import { seeded } from '../seeded.ts'
import { type Behaviour, behaviours, settlesAtOnce } from './behaviours.ts'
import * as bounds from './bounds.ts'
import type { FlightPoint } from './points.ts'
import { type Authorization, type Caps, ServiceRecords } from './service-records.ts'

const offer = option({ maxTimeoutSeconds: bounds.authorizationSeconds })

/** What may be paid, and how. */
export function offered(response: ServerResponse): void {
  const required = { x402Version: 2 as const, accepts: [offer] }
  answerJson(response, 402, required, { [paymentRequired.name]: paymentRequired.format(required) })
}

/** The answer to a payment that is settled, however often it comes. */
export function credited(book: ServiceRecords, row: Authorization, response: ServerResponse): void {
  book.settle(row)
  const amountCredited = Number(row.amountMicroUsd) / 1e6
  const newBalance = Number(book.creditMicroUsd) / 1e6
  const data = { walletAddress: row.from, amountCredited, newBalance, paymentId: 'p' }
  const settlement = { success: true, network: evmNetwork, payer: row.from, transaction: '0xabc' }
  answerJson(response, 200, { success: true, data }, { [paymentResponse.name]: paymentResponse.format(settlement) })
}

/** What a first presentation is answered, or not, by how it was drawn to be treated. */
export async function misbehave(book: ServiceRecords, row: Authorization, response: ServerResponse): Promise<void> {
  switch (row.behaviour) {
    case 'accept then time-out':
      return sleep(bounds.silenceMs).then(() => void response.destroy())
    case '5xx after settle':
      return answerJson(response, 502, { error: 'bad gateway' })
    case 'double 402':
      return offered(response)
    case 'slow answer':
      return sleep(bounds.slowMs).then(() => credited(book, row, response))
    case 'declared safe':
      return answerJson(response, 503, { error: 'PAYMENT_PENDING', message: 'send it again' }, { 'retry-after': '0' })
    case 'broken before':
    case 'answer lost':
      return void response.destroy()
    default:
      return credited(book, row, response)
  }
}

export interface ServiceTerms {
  seed: number
  caps: Caps
  /** Of the first payment, where the round needs one of these. */
  first: readonly Behaviour[]
  /** Its clock is that of the wallets. */
  now: () => number
}

const priced = { input: { usd: 1, diem: 1 }, output: { usd: 50_000, diem: 50_000 } }
const model = {
  id: 'm',
  object: 'model',
  owned_by: 'x',
  type: 'text',
  model_spec: { privacy: 'private', availableContextTokens: 1000, maxCompletionTokens: 100, pricing: priced },
}
const chat = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }],
}
const priceMicroUsd = BigInt(bounds.callUsd * 1_000_000)

/**
 * A service that is paid, keeps exact ledger, and treats each payment and some calls as badly as the seed says. It has two
 * addresses, which are two services for a wallet.
 */
export async function paidService({ seed, caps, first, now }: ServiceTerms) {
  const book = new ServiceRecords(caps)
  const draws = seeded(seed, 'service')
  const dying = new Map<string, { point: FlightPoint; kill: () => void }>()
  let isWell = false
  let offers = 0

  const drawn = (): Behaviour =>
    (book.authorizations.size === 0 ? draws.pick(first) : undefined) ??
    (draws.once(3) ? 'clean' : draws.pick(behaviours)) ??
    'clean'

  // The first ones hear what they asked for, so that a round has payments.
  const breaksOffer = (): boolean => ++offers > bounds.leastProcesses && !isWell && draws.once(8)

  const topUp = async ({ headers }: Seen, response: ServerResponse): Promise<void> => {
    const header = headers[paymentSignature.name]
    if (typeof header !== 'string') return breaksOffer() ? void response.destroy() : offered(response)
    const row = book.present(header, drawn)
    const dies = dying.get(row.nonce)
    dying.delete(row.nonce)
    if (dies?.point === 'in flight') return dies.kill()
    if (settlesAtOnce(row.behaviour)) book.settle(row)
    if (dies) return dies.kill()
    if (row.behaviour === 'refused') return answerJson(response, 400, { error: 'X402_INVALID_PAYMENT', message: 'no' })
    if (row.behaviour === 'silent for good') return answerJson(response, 504, { error: 'gateway timeout' })
    if (row.behaviour === 'reconcile unavailable' && !isWell) return answerJson(response, 504, { error: 'timeout' })
    return row.presentations > 1 || isWell ? credited(book, row, response) : misbehave(book, row, response)
  }

  const call = (response: ServerResponse): void => {
    const trouble = isWell ? 0 : draws.below(8)
    if (trouble === 1) return void response.destroy()
    if (book.creditMicroUsd < priceMicroUsd) {
      answerJson(response, 402, creditRequired(Number(book.creditMicroUsd) / 1e6, bounds.callUsd))
      return
    }
    book.creditMicroUsd -= priceMicroUsd
    if (trouble === 2) return void response.destroy()
    answerJson(response, 200, { ...chat, cost: { usd: bounds.callUsd, diem: 0 } })
  }

  const answer: Handler = async (seen, response) => {
    response.setHeader('date', new Date(now()).toUTCString())
    const path = seen.path.replace('/api/v1', '')
    if (path.startsWith('/models')) return answerJson(response, 200, { object: 'list', type: 'all', data: [model] })
    if (path === '/x402/top-up') return topUp(seen, response)
    if (path === '/chat/completions') return call(response)
    answerJson(response, 404, { error: 'no such path' })
  }
  const doors = [await littleServer(answer), await littleServer(answer)] as const
  return {
    book,
    baseUrls: [doors[0].baseUrl, doors[1].baseUrl] as const,
    close: async () => void (await Promise.all(doors.map(door => door.close()))),
    /** From now on answers come, but for those that never do. */
    recover: () => {
      isWell = true
    },
    /** Kills the next process that presents this payment. */
    killAt: (nonce: string, point: FlightPoint, kill: () => void) => void dying.set(nonce, { point, kill }),
  }
}

export type PaidService = Awaited<ReturnType<typeof paidService>>
