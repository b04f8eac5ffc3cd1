import { fromUsdNumber } from '#contract/money.ts'
import type { EvmAuthorization } from '#contract/payment.ts'
import type { Seeded } from '../../seeded.ts'
import type { SentPayment } from '../book.ts'
import type { Caller } from '../callers.ts'
import type { World } from '../world.ts'
import type { Visit } from './visit.ts'

/** What a payer may get wrong, or do on purpose. */
const flaws = ['too little', 'another payee', 'no signature', 'over', 'too long', 'not yet'] as const
export type Flaw = (typeof flaws)[number]

export const flawOf = (draws: Seeded): Flaw => draws.pick(flaws) ?? 'over'

/** Signs a new payment; it is known to nobody yet. */
export function signPayment(world: World, caller: Caller, draws: Seeded, flaw?: Flaw): SentPayment {
  const now = Math.floor(world.trueMs() / 1000)
  const usd = flaw === 'too little' ? 1 : 5 + draws.below(4)
  const lives = flaw === 'over' ? -5 : flaw === 'too long' ? 3_600 : 60 + draws.below(240)
  const nonce = Array.from({ length: 8 }, () =>
    draws
      .below(2 ** 31)
      .toString(16)
      .padStart(8, '0'),
  ).join('')
  const authorization: EvmAuthorization = {
    from: caller.wallet,
    to: flaw === 'another payee' ? `0x${'22'.repeat(20)}` : world.option.payTo,
    value: `${usd * 1_000_000}`,
    validAfter: flaw === 'not yet' ? `${now + 200}` : '0',
    validBefore: `${now + lives}`,
    nonce: `0x${nonce}`,
  }
  const signer = flaw === 'no signature' ? null : caller.wallet
  const payment = { header: headerOf(world, authorization, signer), authorization, acknowledged: null }
  world.book.payments.push(payment)
  return payment
}

function headerOf(world: World, authorization: EvmAuthorization, signer: string | null): string {
  const { option } = world
  const accepted = { ...option, amount: authorization.value, payTo: authorization.to }
  const signature = signer ? world.signatures.sign(authorization.nonce, signer) : `0x${'1'.repeat(128)}1b`
  const payload = { x402Version: 2, accepted, payload: { signature, authorization } }
  return Buffer.from(JSON.stringify(payload)).toString('base64')
}

/** Sends a payment, for the first time or again. Now and then the payer leaves before the answer. */
export async function sendPayment(visit: Visit, payment: SentPayment, waits = false): Promise<void> {
  const { draws } = visit
  if (!waits && draws.once(10)) visit.leaveAfter(draws.below(3_000))
  const response = await visit.ask({
    method: 'POST',
    path: '/api/v1/x402/top-up',
    headers: { 'payment-signature': payment.header },
    body: {},
    address: `10.0.${draws.below(40)}.${draws.below(200)}`,
  })
  const body = await visit.text(response)
  visit.answered(response.status)
  if (response.status === 200) acknowledge(visit, payment, body)
  else note(visit, payment, response.status, JSON.parse(body))
}

function acknowledge({ world, name }: Visit, payment: SentPayment, body: string): void {
  const { data } = JSON.parse(body)
  if (payment.acknowledged && payment.acknowledged.body !== body) {
    world.broken(`${name}: a payment was answered ${body}, and before ${payment.acknowledged.body}.`)
  }
  world.sometimes.reached(
    payment.acknowledged ? 'a payment that came again got its answer again' : 'a top-up was credited',
  )
  payment.acknowledged = {
    body,
    amount: fromUsdNumber(data.amountCredited) ?? 0n,
    newBalance: fromUsdNumber(data.newBalance) ?? 0n,
  }
}

interface TopUpFailure {
  error?: unknown
  details?: { reason?: unknown }
}

function note(visit: Visit, payment: SentPayment, status: number, { error, details }: TopUpFailure): void {
  const { world, name } = visit
  if (status === 400 && world.chain.isBrought(payment.authorization))
    world.broken(`${name}: a payment that the service has sent was called bad (${details?.reason}).`)
  if (error === 'X402_SETTLEMENT_PENDING') world.sometimes.reached('a top-up was answered as pending')
  if (status === 400 && details?.reason === 'expired') world.sometimes.reached('a payment was answered as expired')
  if (status === 400 && details?.reason === 'insufficient_funds')
    world.sometimes.reached('a payment was refused because its payer had nothing')
}
