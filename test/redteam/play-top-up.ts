import type { ServerResponse } from 'node:http'
import type { Clock } from '#contract/time.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { creditRequired } from '../agent/pretend-service.ts'
import { answer, type HostileHosts, hostileHosts } from './hostile-hosts.ts'
import { type SignedPayment, signedPayments } from './signed-payments.ts'
import type { PaymentAnswer, TopUpPlay } from './top-up-play.ts'

export const provider = 'provider.test'
export const topUpPath = '/api/v1/x402/top-up'

export interface HostileTopUp extends HostileHosts {
  baseUrl: string
  /** Chats that were answered. */
  delivered(): number
  /** Payments that moved money, each once. */
  settled(): number
  /** Answers what is held, once there is something. */
  release(): Promise<void>
}

interface TestLedger {
  creditUsd: number
  looks: number
  chats: number
  settled: Set<string>
  credited: Set<string>
  presented: number
  held: PromiseWithResolvers<() => void>
}

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
const leastCreditUsd = 0.1

/** A service that sells chats for prepaid credit, plays by its fixture, and settles whatever was signed. */
export async function playTopUp(play: TopUpPlay, clock: Clock): Promise<HostileTopUp> {
  const ledger: TestLedger = {
    ...{ creditUsd: 0, looks: 0, chats: 0, settled: new Set<string>(), credited: new Set<string>(), presented: 0 },
    held: Promise.withResolvers(),
  }
  const urlOf = (place: string) => {
    const [host = '', ...path] = place.split('/')
    return hosts.url(host, `/${path.join('/')}`)
  }
  const hosts = await hostileHosts(clock, async (seen, response) => {
    const isHome = seen.host === provider
    if (!isHome || seen.path === topUpPath) {
      const [payment] = await signedPayments([seen])
      if (!payment) return look(response, isHome)
      const goTo = isHome ? play.paymentsGoTo : undefined
      return goTo ? answer(response, 307, '', { location: urlOf(goTo) }) : take(payment, response)
    }
    if (seen.path === '/api/v1/models') return answer(response, 200, modelList(play.modelText))
    if (seen.path === '/api/v1/chat/completions') return chat(ledger, play, response)
    answer(response, 404, { error: 'no such path' })
  })

  const look = (response: ServerResponse, isHome: boolean) => {
    if (isHome && play.looksGoTo) return answer(response, 302, '', { location: urlOf(play.looksGoTo) })
    const accepts = play.offers(++ledger.looks)
    const resource = { url: play.resource ? urlOf(play.resource) : hosts.url(provider, topUpPath) }
    const headerOf = (offers: readonly PaymentOption[]) => base64({ x402Version: 2, resource, accepts: offers })
    const header = headerOf(play.headerOffers ?? accepts)
    if (play.doubledHeader)
      return answer(response, 402, {}, { 'payment-required': [header, headerOf(play.doubledHeader)] })
    answer(response, 402, { x402Version: 2, accepts, ...play.more }, { 'payment-required': header })
  }

  const take = (payment: SignedPayment, response: ServerResponse) => {
    const { payments = ['credit'] } = play
    const how = payments[Math.min(ledger.presented++, payments.length - 1)] ?? 'credit'
    if (how !== 'reject') ledger.settled.add(payment.key)
    // Credit comes with the answer that says so, once: a wallet that does not ask again has none.
    const brings = (how === 'credit' || how === 'hold') && !ledger.credited.has(payment.key)
    if (brings) ledger.credited.add(payment.key)
    if (brings) ledger.creditUsd += payment.usd
    paymentAnswers[how]({ payment, response, ledger, again: () => look(response, true) })
  }

  return {
    ...hosts,
    baseUrl: hosts.url(provider, '/api/v1'),
    delivered: () => ledger.chats,
    settled: () => ledger.settled.size,
    release: async () => (await ledger.held.promise)(),
  }
}

interface Taken {
  payment: SignedPayment
  response: ServerResponse
  ledger: TestLedger
  /** The requirements, as though no payment had come. */
  again(): void
}

const fault = (status: number, error: string, reason?: string) => (taken: Taken) =>
  answer(taken.response, status, { error, message: 'see error', ...(reason ? { details: { reason } } : {}) })

const paymentAnswers: Readonly<Record<PaymentAnswer, (taken: Taken) => void>> = {
  credit: taken => receipt(taken, {}),
  'no credit': taken => receipt(taken, {}),
  empty: ({ response }) => answer(response, 200, ''),
  'another wallet': taken => receipt(taken, { walletAddress: `0x${'9'.repeat(40)}` }),
  'another amount': taken => receipt(taken, { amountCredited: 0 }),
  reject: fault(400, 'X402_INVALID_PAYMENT', 'try_again_with_a_new_nonce'),
  'nonce used': fault(400, 'X402_INVALID_PAYMENT', 'nonce_already_used'),
  '402': ({ again }) => again(),
  pending: fault(500, 'X402_SETTLEMENT_PENDING'),
  '502': ({ response }) => answer(response, 502, '<h1>Bad gateway</h1>'),
  '504': ({ response }) => answer(response, 504, '<h1>Gateway timeout</h1>'),
  silence: () => {},
  drop: ({ response }) => void response.destroy(),
  hold: taken => taken.ledger.held.resolve(() => receipt(taken, {})),
}

function receipt({ payment, response, ledger }: Taken, lies: Record<string, unknown>): void {
  const walletAddress = payment.payer
  const data = { walletAddress, amountCredited: payment.usd, newBalance: ledger.creditUsd, paymentId: 'p', ...lies }
  const settlement = { success: true, network: payment.network, payer: walletAddress, transaction: '0xabc' }
  answer(response, 200, { success: true, data }, { 'payment-response': base64(settlement) })
}

function chat(
  ledger: TestLedger,
  { chatUsd = () => 0.001, credit, isFree, isNeverLetIn, says, saysUsd }: TopUpPlay,
  response: ServerResponse,
) {
  const price = isFree ? 0 : chatUsd(ledger.chats)
  const needed = Math.max(leastCreditUsd, price)
  if (isNeverLetIn || (!isFree && ledger.creditUsd < needed)) {
    return answer(response, 402, { ...creditRequired(isNeverLetIn ? 0 : ledger.creditUsd, needed), ...credit })
  }
  const before = ledger.creditUsd
  ledger.creditUsd -= price
  const said = saysUsd?.(ledger.chats)
  ledger.chats++
  const message = { role: 'assistant', content: says ?? 'hello' }
  const choices = [{ index: 0, finish_reason: 'stop', message }]
  const cost = { usd: price, diem: 0 }
  const headers = {
    'x-service-balance-usd': (said ?? before).toFixed(6),
    'x-balance-remaining': (said ?? ledger.creditUsd).toFixed(6),
  }
  const body = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, cost }
  answer(response, 200, body, headers)
}

function modelList(description = 'A model') {
  const pricing = { input: { usd: 1, diem: 1 }, output: { usd: 2, diem: 2 } }
  const spec = { privacy: 'private', description, availableContextTokens: 1_000, maxCompletionTokens: 100, pricing }
  const model = { id: 'm', object: 'model', owned_by: 'x', type: 'text', model_spec: spec }
  return { object: 'list', type: 'all', data: [model] }
}
