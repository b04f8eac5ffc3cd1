import { getWalletTransactions } from '#contract/wallet-records.ts'
import { clockSkewMs } from './bounds.ts'
import type { Core } from './core.ts'

/**
 * Whether a service's own records show a charge of this wallet since then. `unknown` with an API key, whose charges no
 * caller can list, and where the records cannot be read.
 */
export async function shownCharge(
  { client, wallet }: Pick<Core, 'client' | 'wallet'>,
  sinceMs: number,
): Promise<'some' | 'none' | 'unknown'> {
  if (!wallet) return 'unknown'
  try {
    const call = { params: { walletAddress: wallet.address }, query: {}, body: undefined }
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
