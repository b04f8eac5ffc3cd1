import { getWalletTransactions } from '#contract/operations/wallet.ts'
import type { Core } from '../core.ts'

/** Whether a wallet's own records show that a job's price came back; false where that cannot be seen. */
export async function wasRefunded({ client, wallet }: Core, queueId: string): Promise<boolean> {
  if (!wallet) return false
  try {
    const call = { params: { walletAddress: await wallet.account() }, query: {}, body: undefined }
    const { answer } = await client.call(getWalletTransactions, call, { attempts: 1 })
    return answer.data.transactions.some(({ type, requestId }) => type === 'REFUND' && requestId === queueId)
  } catch {
    // Not known is not refunded; the credit shows it in any case.
    return false
  }
}
