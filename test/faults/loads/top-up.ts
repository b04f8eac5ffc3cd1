import { setTimeout as sleep } from 'node:timers/promises'
import { fromUsdNumber } from '#contract/money.ts'
import { TopUpResult } from '#contract/operations/wallet.ts'
import { paymentResponse } from '#contract/wire/headers.ts'
import { solanaNetwork } from '#contract/wire/networks.ts'
import { type PaymentOption, TopUpRequired } from '#contract/wire/payment.ts'
import type { SignedTopUp } from '../load-records.ts'
import type { Round } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { refused, send, textOf } from '../send.ts'
import { signTopUp } from './sign-payment.ts'

const path = '/x402/top-up'

/** From 5 USD on; each wants an amount of its own. */
export const leastMicroUsd = 5_000_000n

/** Of one load and start: answers that a payment is pending count towards the abuse block. */
const mostResends = 3

/** The server refuses a payment that has too little time left to land. */
const expiryMarginMs = 15_000

/** New payments, twins of them, and old ones that were never acknowledged: each is one credit at most, and one at last. */
export async function topUps(round: Round, seeded: Seeded): Promise<void> {
  const resends: Promise<void>[] = []
  while (!round.isOver()) {
    await sleep(seeded.below(120))
    if (round.isOver()) break
    const old = seeded.once(4) ? seeded.pick(round.book.topUps.filter(isOpen)) : undefined
    // Not waited for: the server may wait itself until a lease of its killed predecessor ends.
    if (old && resends.length < mostResends) resends.push(pay(round, old))
    else if (round.budget.payments > 0) await payAnew(round, seeded)
  }
  await Promise.all(resends)
}

export const isOpen = ({ acknowledged, expired }: SignedTopUp): boolean => !acknowledged && !expired

/** What the 402 of this server asks for on either chain. */
export async function offeredOptions(baseUrl: string): Promise<{ option: PaymentOption; solana: PaymentOption }> {
  const response = await fetch(`${baseUrl}${path}`, { method: 'POST' })
  const { accepts } = TopUpRequired.parse(await response.json())
  const [option] = accepts
  const solana = accepts.find(({ network }) => network === solanaNetwork)
  if (!option || !solana) throw new Error('The server does not offer both ways to pay; is litesvm installed?')
  return { option, solana }
}

async function payAnew(round: Round, seeded: Seeded): Promise<void> {
  const wallet = seeded.pick(round.wallets)
  if (!wallet) return
  round.budget.payments--
  const payment = await signTopUp(wallet, round.option, leastMicroUsd + BigInt(seeded.below(1_000_000)))
  // In the book before it is sent: from then on it may land.
  round.book.topUps.push(payment)
  const twins = seeded.once(4) ? [payment, payment] : [payment]
  await Promise.all(twins.map(each => pay(round, each)))
}

/** Sends it. What was acknowledged before must be answered with the same bytes. */
export async function pay(round: Round, payment: SignedTopUp): Promise<void> {
  const { book } = round
  const { kind } = payment
  const response = await send(round, { kind, path, headers: { 'payment-signature': payment.header } })
  if (!response) return
  if (response.status !== 200) return refusedPayment(round, payment, response)
  const body = await textOf(response)
  if (body === null) return
  const known = payment.acknowledged
  if (known) {
    if (known.body !== body) book.surprise('resend', `${known.body} became ${body}`)
    return book.count('resend')
  }
  const data = creditOf(body)
  if (!data) return book.surprise(kind, `200 ${body}`)
  const header = response.headers.get(paymentResponse.name)
  const settled = header === null ? null : paymentResponse.parse(header)
  const credited = fromUsdNumber(data.amountCredited)
  if (credited !== payment.amountMicroUsd) book.surprise(kind, `${payment.amountMicroUsd} signed, ${body}`)
  if (!settled?.success) book.surprise(kind, `200 without a settlement in ${paymentResponse.name}`)
  payment.acknowledged = {
    body,
    transaction: settled?.transaction ?? '',
    newBalanceMicroUsd: fromUsdNumber(data.newBalance) ?? -1n,
  }
  book.count(kind)
}

function creditOf(body: string): TopUpResult['data'] | null {
  try {
    return TopUpResult.parse(JSON.parse(body)).data
  } catch {
    return null
  }
}

/** Too many new ones a minute, or not settled yet, are no surprise; that a good payment is bad is one. */
async function refusedPayment(round: Round, payment: SignedTopUp, response: Response): Promise<void> {
  const isLate = Date.now() > payment.validBeforeMs - expiryMarginMs
  const body = await refused(round, payment.kind, response, isLate ? [400, 429, 500] : [429, 500])
  if (response.status === 400 && isLate) payment.expired = true
  const isPending = body?.includes('X402_SETTLEMENT_PENDING') ?? false
  if (response.status === 500 && !isPending && !round.mayFail()) round.book.surprise(payment.kind, `500 ${body}`)
  if (payment.acknowledged && !round.mayFail())
    round.book.surprise('resend', `${response.status} for a payment that was acknowledged`)
}
