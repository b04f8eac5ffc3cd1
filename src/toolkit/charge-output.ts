import { strangeId } from './from-outside.ts'
import { isoTime, usd } from './say-amount.ts'
import type { ChargeReceipt } from './tool-context.ts'

/** A charge or a refund of a service, as a program reads it; `sayCharge` is the same in a line. */
export interface ChargeOutput {
  id: string
  kind: ChargeReceipt['kind']
  at: string
  /** What came of its signed receipt. */
  state: ChargeReceipt['state']
  amount_usd: number | null
  staking_usd: number | null
  what: string | null
  model: string | null
  usage: { sku: string; units: string }[]
  problem: string | null
}

export const chargeOutput = (charge: ChargeReceipt): ChargeOutput => ({
  id: strangeId(charge.id),
  kind: charge.kind,
  at: isoTime(charge.atMs),
  state: charge.state,
  amount_usd: usd(charge.amountMicroUsd),
  staking_usd: usd(charge.stakingMicroUsd),
  what: charge.what,
  model: charge.model && strangeId(charge.model),
  usage: charge.usage.map(({ sku, units }) => ({ sku: strangeId(sku), units: strangeId(units) })),
  problem: charge.problem,
})
