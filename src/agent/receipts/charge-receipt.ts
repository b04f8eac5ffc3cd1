import { type MicroUsd, microUsd, zeroUsd } from '#contract/money.ts'
import type { ChargeReceipt } from '#toolkit/tool-context.ts'
import { readReceipt } from '#wallet/receipts.ts'
import { kindOf, type ReceiptRow } from './receipt-rows.ts'

/** A kept receipt as it is shown: what it says itself, or what the answer said where none came. */
export function chargeReceipt(row: ReceiptRow): ChargeReceipt {
  const claims = row.receipt === null ? null : (readReceipt(row.receipt)?.claims ?? null)
  const said = (text: string | undefined): MicroUsd | null => (text === undefined ? null : microUsd(BigInt(text)))
  return {
    id: row.id,
    kind: kindOf(row),
    atMs: row.atMs,
    state: row.state,
    amountMicroUsd: said(claims?.amount_micro_usd) ?? row.saidMicroUsd,
    stakingMicroUsd: said(claims?.paid_with.diem) ?? zeroUsd,
    what: row.what,
    model: claims?.model ?? row.model,
    usage: claims?.lines.map(({ sku, units }) => ({ sku, units })) ?? [],
    problem: row.problem,
  }
}
