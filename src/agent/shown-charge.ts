import { getWalletTransactions } from '#contract/wallet-records.ts'
import { clockSkewMs } from './bounds.ts'
import type { Core } from './core.ts'

/**
 * Whether a service's own records show a charge of this account since then: a wallet has one a rail, and the call was paid
 * from one of them. `unknown` for an API key, whose charges no caller can list, and where the records cannot be read.
 */
export async function shownCharge(
  { client }: Pick<Core, 'client'>,
  account: string | null,
  sinceMs: number,
): Promise<'some' | 'none' | 'unknown'> {
  if (account === null) return 'unknown'
  try {
    const call = { params: { walletAddress: account }, query: {}, body: undefined }
    const { answer } = await client.call(getWalletTransactions, call, { attempts: 2 })
    const { transactions, pagination } = answer.data
    const earliestMs = sinceMs - clockSkewMs
    const times = transactions.map(({ type, createdAt }) => ({ type, atMs: Date.parse(createdAt) }))
    if (times.some(({ type, atMs }) => type === 'CHARGE' && !(atMs < earliestMs))) return 'some'
    // The newest come first; where all of a page are newer, more of them lie on the next.
    return pagination.hasMore && !times.some(({ atMs }) => atMs < earliestMs) ? 'unknown' : 'none'
  } catch {
    return 'unknown'
  }
}
