import { walletMismatch } from '#contract/errors.ts'
import { admissionFloorUsd, topUpUsd } from '#contract/limits.ts'
import { toUsdNumber, zeroUsd } from '#contract/money.ts'
import { normalizeWallet } from '#contract/payment-rails.ts'
import { getWalletBalance } from '#contract/wallet-records.ts'
import { type Call, json, principalOf } from '../call.ts'
import { route } from '../route.ts'

/** A wallet sees its own records only (reliability of other people's privacy). Returns the normalised address. */
export function ownWallet(call: Call, walletAddress: string): string {
  const principal = principalOf(call)
  const wallet = normalizeWallet(walletAddress)
  if (principal.kind !== 'wallet' || principal.wallet !== wallet) throw walletMismatch()
  return wallet
}

export const getWalletBalanceRoute = route(getWalletBalance, async (call, service) => {
  const walletAddress = ownWallet(call, call.params.walletAddress)
  const { usd, staking } = await service.funding.spendable(principalOf(call))
  const balanceUsd = toUsdNumber(usd)
  return json({
    success: true,
    data: {
      walletAddress,
      balanceUsd,
      canConsume: toUsdNumber(usd + (staking ?? zeroUsd)) >= admissionFloorUsd,
      minimumTopUpUsd: topUpUsd.minimum,
      suggestedTopUpUsd: topUpUsd.suggested,
      ...(staking ? { diemBalanceUsd: toUsdNumber(staking) } : {}),
    },
  })
})
