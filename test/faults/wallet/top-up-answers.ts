import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { paymentRequired, paymentResponse } from '#contract/wire/headers.ts'
import { evmNetwork } from '#contract/wire/networks.ts'
import { option } from '../../agent/pretend-service.ts'
import { answerJson } from '../../client/little-server.ts'
import * as bounds from './bounds.ts'
import type { Authorization, ServiceBook } from './service-book.ts'

const offer = option({ maxTimeoutSeconds: bounds.authorizationSeconds })

/** What may be paid, and how. */
export function offered(response: ServerResponse): void {
  const required = { x402Version: 2 as const, accepts: [offer] }
  answerJson(response, 402, required, { [paymentRequired.name]: paymentRequired.format(required) })
}

/** The answer to a payment that is settled, however often it comes. */
export function credited(book: ServiceBook, row: Authorization, response: ServerResponse): void {
  book.settle(row)
  const amountCredited = Number(row.amountMicroUsd) / 1e6
  const newBalance = Number(book.creditMicroUsd) / 1e6
  const data = { walletAddress: row.from, amountCredited, newBalance, paymentId: 'p' }
  const settlement = { success: true, network: evmNetwork, payer: row.from, transaction: '0xabc' }
  answerJson(response, 200, { success: true, data }, { [paymentResponse.name]: paymentResponse.format(settlement) })
}

/** What a first presentation is answered, or not, by how it was drawn to be treated. */
export async function misbehave(book: ServiceBook, row: Authorization, response: ServerResponse): Promise<void> {
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
