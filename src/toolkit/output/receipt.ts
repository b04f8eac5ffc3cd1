import { z } from 'zod'
import { lowered } from '#contract/errors/as-clause.ts'
import { toUsdNumber } from '#contract/money.ts'
import { networkName } from '#contract/wire/networks.ts'
import type { ChargeReceipt, Receipt } from '../tool-context.ts'
import { isoTime, sayUsd, usd } from '../values/amounts.ts'
import { untrustedId } from '../values/untrusted.ts'

/** A payment of the wallet as tools show it. */
export const ReceiptOutput = z.object({
  id: z.string(),
  at: z.string(),
  /** A state of the journal. It is not an enum, so that the list of tools stays short. */
  state: z.string(),
  amount_usd: z.number(),
  network: z.string(),
  pay_to: z.string(),
  transaction: z.string().nullable(),
  purpose: z.string(),
})
export type ReceiptOutput = z.output<typeof ReceiptOutput>

export const receiptOutput = (receipt: Receipt): ReceiptOutput => ({
  id: untrustedId(receipt.id),
  at: isoTime(receipt.atMs),
  state: receipt.state,
  amount_usd: toUsdNumber(receipt.amountMicroUsd),
  network: untrustedId(receipt.network),
  pay_to: untrustedId(receipt.payTo),
  transaction: receipt.transaction && untrustedId(receipt.transaction),
  purpose: receipt.purpose,
})

export const sayReceipt = (receipt: ReceiptOutput): string =>
  `${receipt.at}: ${receipt.id}, ${sayUsd(receipt.amount_usd)} to ${receipt.pay_to} on ${networkName(receipt.network)}, ${receipt.state}, for ${lowered(receipt.purpose)}${receipt.transaction ? `; transaction ${receipt.transaction}` : ''}`

/** A service's charge or refund for a program; `sayCharge` is the same in one line. */
interface ChargeOutput {
  id: string
  kind: ChargeReceipt['kind']
  at: string
  /** The result of checking its signed receipt. */
  state: ChargeReceipt['state']
  amount_usd: number | null
  staking_usd: number | null
  what: string | null
  model: string | null
  usage: { sku: string; units: string }[]
  problem: string | null
}

export const chargeOutput = (charge: ChargeReceipt): ChargeOutput => ({
  id: untrustedId(charge.id),
  kind: charge.kind,
  at: isoTime(charge.atMs),
  state: charge.state,
  amount_usd: usd(charge.amountMicroUsd),
  staking_usd: usd(charge.stakingMicroUsd),
  what: charge.what,
  model: charge.model && untrustedId(charge.model),
  usage: charge.usage.map(({ sku, units }) => ({ sku: untrustedId(sku), units: untrustedId(units) })),
  problem: charge.problem,
})

/** Lines of a bill to show; ours have at most three. */
const shownLines = 20

const stateWords: Readonly<Record<ChargeReceipt['state'], string>> = {
  unsigned: 'without a receipt',
  unchecked: 'receipt not checked yet',
  verified: 'receipt verified',
  differs: 'receipt differs',
  unverified: 'receipt not trusted',
}

/**
 * A service's charge or refund as tools show it: one line, because separate members would lengthen every listing of
 * tools.
 */
export function sayCharge({ atMs, kind, amountMicroUsd, what, model, usage, state, problem }: ChargeReceipt): string {
  const used = usage.slice(0, shownLines).map(({ sku, units }) => `${untrustedId(units)} ${untrustedId(sku)}`)
  const bought = what === null ? (model === null ? 'a call' : untrustedId(model)) : lowered(what)
  return [
    `${isoTime(atMs)}: ${kind === 'refund' ? 'refund of ' : ''}${sayUsd(usd(amountMicroUsd))} for ${bought}`,
    ...(used.length > 0 ? [`used ${used.join(', ')}`] : []),
    problem ?? stateWords[state],
  ].join('; ')
}
