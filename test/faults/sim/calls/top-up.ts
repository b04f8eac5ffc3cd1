import { fromUsdNumber } from '#contract/money.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { blockhashBlocks } from '#payments/bounds.ts'
import type { Seeded } from '../../seeded.ts'
import type { SentPayment } from '../call-records.ts'
import type { Caller } from '../callers.ts'
import type { Order } from '../orders.ts'
import { type SolanaWallet, solanaTransfer } from '../solana-transfer.ts'
import type { World } from '../world.ts'
import type { Visit } from './visit.ts'

/** What a payer may get wrong, or do on purpose. */
const flaws = ['too little', 'another payee', 'no signature', 'over', 'too long', 'not yet'] as const
export type Flaw = (typeof flaws)[number]

export const flawOf = (draws: Seeded): Flaw => draws.pick(flaws) ?? 'over'

/** Signs a new payment that has not been sent yet. */
export function signPayment(world: World, caller: Caller, draws: Seeded, flaw?: Flaw): SentPayment {
  const usd = flaw === 'too little' ? 1 : 5 + draws.below(4)
  const terms = { amount: BigInt(usd * 1_000_000), draws, flaw }
  const { order, header } =
    caller.solana && draws.once(2) ? signOnSolana(world, caller.solana, terms) : signOnEvm(world, caller.wallet, terms)
  const payment = { header, order, acknowledged: null }
  world.orders.set(order.id, order)
  world.book.payments.push(payment)
  return payment
}

interface Terms {
  amount: bigint
  draws: Seeded
  flaw: Flaw | undefined
}

const bytesOf = (draws: Seeded, length: number): Buffer => Buffer.from(Array.from({ length }, () => draws.below(256)))

function signOnEvm(
  world: World,
  wallet: string,
  { amount, draws, flaw }: Terms,
): Pick<SentPayment, 'order' | 'header'> {
  const { evm } = world.options
  const now = Math.floor(world.trueMs() / 1000)
  const lives = flaw === 'over' ? -5 : flaw === 'too long' ? 3_600 : 60 + draws.below(240)
  const validAfter = flaw === 'not yet' ? now + 200 : 0
  const to = flaw === 'another payee' ? `0x${'22'.repeat(20)}` : evm.payTo
  const id = `0x${bytesOf(draws, 32).toString('hex')}`
  const isSigned = flaw !== 'no signature'
  const times = { validAfter: `${validAfter}`, validBefore: `${now + lives}` }
  const authorization = { from: wallet, to, value: `${amount}`, ...times, nonce: id }
  const signature = isSigned ? world.signatures.sign(id, wallet) : `0x${'1'.repeat(128)}1b`
  const order: Order = {
    ...{ rail: 'evm', id, from: wallet, to, amount, isSigned },
    validAfterMs: validAfter * 1000,
    validBeforeMs: (now + lives) * 1000,
  }
  return { order, header: headerOf({ ...evm, payTo: to }, amount, { signature, authorization }) }
}

/** A transaction says nothing of its time; only the payee and the amount can be wrong. */
function signOnSolana(world: World, wallet: SolanaWallet, { amount, draws, flaw }: Terms) {
  const { svm } = world.options
  const chain = world.chains.svm
  const payee = flaw === 'another payee' ? wallet.address : svm.payTo
  const { transaction, id } = solanaTransfer(wallet, { amount, payee, blockhash: bytesOf(draws, 32) })
  // The blockhash may be of a while ago.
  const lastBlock = chain.head + blockhashBlocks - draws.below(blockhashBlocks)
  const order: Order = {
    ...{ rail: 'svm', id, from: wallet.address, to: payee, amount, isSigned: true },
    validAfterMs: 0,
    validBeforeMs: (lastBlock + 1) * chain.blockMs,
  }
  return { order, header: headerOf(svm, amount, { transaction }) }
}

function headerOf(option: PaymentOption, amount: bigint, payload: object): string {
  const accepted = { ...option, amount: `${amount}` }
  return Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload })).toString('base64')
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
  if (payment.order.rail === 'svm') world.sometimes.reached('a top-up on Solana was credited')
  payment.acknowledged = {
    body,
    amount: fromUsdNumber(data.amountCredited) ?? 0n,
    newBalance: fromUsdNumber(data.newBalance) ?? 0n,
  }
}

/** How far a process's clock may be off before it is no judge of a payment's time. */
const toleratedSkewMs = 5_000

interface TopUpFailure {
  error?: unknown
  details?: { reason?: unknown }
}

function note(visit: Visit, payment: SentPayment, status: number, { error, details }: TopUpFailure): void {
  const { world, name, process } = visit
  // By a clock that is off a payment may be over that another process has just sent; its row is what counts then.
  const isOnTime = Math.abs(process.skewMs) < toleratedSkewMs || details?.reason !== 'expired'
  if (status === 400 && isOnTime && world.chainOf(payment.order).isBrought(payment.order))
    world.broken(`${name}: a payment that the service has sent was called bad (${details?.reason}).`)
  if (error === 'X402_SETTLEMENT_PENDING') world.sometimes.reached('a top-up was answered as pending')
  if (status === 400 && details?.reason === 'expired') world.sometimes.reached('a payment was answered as expired')
  if (status === 400 && details?.reason === 'insufficient_funds')
    world.sometimes.reached('a payment was refused because its payer had nothing')
}
