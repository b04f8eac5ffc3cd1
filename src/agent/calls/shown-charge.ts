import { addUsd, fromUsdNumber, type MicroUsd, zeroUsd } from '#contract/money.ts'
import { getWalletTransactions } from '#contract/operations/wallet.ts'
import { clockSkewMs } from '../bounds.ts'
import type { Core } from '../core.ts'

export type ShownCharge =
  /** All charges since then together; null where their amounts do not read as ones. */
  { kind: 'some'; amountMicroUsd: MicroUsd | null } | { kind: 'none' } | { kind: 'unknown' }

/**
 * Whether a service's own records show a charge of this account since then: a wallet has one a rail, and the call was paid
 * from one of them. `unknown` for an API key, whose charges no caller can list, and where the records cannot be read.
 */
export async function shownCharge(
  { client }: Pick<Core, 'client'>,
  account: string | null,
  sinceMs: number,
): Promise<ShownCharge> {
  if (account === null) return { kind: 'unknown' }
  try {
    const call = { params: { walletAddress: account }, query: {}, body: undefined }
    const { answer } = await client.call(getWalletTransactions, call, { attempts: 2 })
    const { transactions, pagination } = answer.data
    const earliestMs = sinceMs - clockSkewMs
    const isBefore = ({ createdAt }: { createdAt: string }) => Date.parse(createdAt) < earliestMs
    const charges = transactions.filter(row => row.type === 'CHARGE' && !isBefore(row))
    // The newest come first; where all of a page are newer, more of them lie on the next.
    const hasMore = pagination.hasMore && !transactions.some(isBefore)
    if (charges.length > 0) return { kind: 'some', amountMicroUsd: hasMore ? null : sumOf(charges) }
    return { kind: hasMore ? 'unknown' : 'none' }
  } catch {
    return { kind: 'unknown' }
  }
}

/** Charges are negative in the records. */
function sumOf(charges: readonly { amount: number }[]): MicroUsd | null {
  let sum: MicroUsd = zeroUsd
  for (const { amount } of charges) {
    const charged = fromUsdNumber(-amount)
    if (charged === null) return null
    sum = addUsd(sum, charged)
  }
  return sum
}
