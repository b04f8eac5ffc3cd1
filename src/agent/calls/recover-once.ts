import { WalletRefusal } from '#wallet/terms/refusal.ts'
import type { Core } from '../core.ts'
import { creditOf } from '../wallet/credit.ts'

/**
 * Sends again, once in a process, what an earlier one had signed and nobody has answered: the same bytes, before the first
 * paid call, so that credit which they brought is seen before more is paid. What stays open stands in the journal.
 */
export function recoverOnce(core: Core): () => Promise<void> {
  const { wallet, topUps } = core
  let recovery: Promise<void> | undefined
  const recover = async () => {
    if (!wallet) return
    const { openPayments, isPayerDecided } = await wallet.status()
    if (!isPayerDecided) await findCredit(core, wallet)
    if (openPayments.length === 0) return
    try {
      await wallet.recover(topUps.send)
    } catch (error) {
      // Credit may be there all the same; the next payment says what stands in its way.
      if (!(error instanceof WalletRefusal)) throw error
    }
  }
  return () => {
    recovery ??= recover().catch(error => {
      // A journal that is away now is there for a later call.
      recovery = undefined
      throw error
    })
    return recovery
  }
}

/** Before a wallet of several rails has ever paid here, credit that lies in one of its accounts is spent first. */
async function findCredit(core: Core, wallet: NonNullable<Core['wallet']>): Promise<void> {
  for (const address of wallet.addresses) {
    wallet.useAccount(address)
    const credit = await creditOf(core)
    if (credit !== null && credit > 0n) return
  }
  wallet.useAccount(null)
}
