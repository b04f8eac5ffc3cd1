import { WalletRefusal } from '#wallet/refusal.ts'
import type { Core } from './core.ts'

/**
 * Sends again, once in a process, what an earlier one had signed and nobody has answered: the same bytes, before the first
 * paid call, so that credit which they brought is seen before more is paid. What stays open stands in the journal.
 */
export function recoverOnce({ wallet, topUps }: Pick<Core, 'wallet' | 'topUps'>): () => Promise<void> {
  let recovery: Promise<void> | undefined
  const recover = async () => {
    if (!wallet || (await wallet.status()).openPayments.length === 0) return
    try {
      await wallet.recover(topUps.send)
    } catch (error) {
      // Credit may be there all the same; the next payment says what stands in its way.
      if (!(error instanceof WalletRefusal)) throw error
    }
  }
  return () => {
    recovery ??= recover()
    return recovery
  }
}
