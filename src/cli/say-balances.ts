import { formatUsd, microUsd } from '#contract/money.ts'
import type { ListedBalance } from '#ledger/accounts/list-balances.ts'

const usd = (amount: bigint): string => formatUsd(microUsd(amount))

/** An account's balance for a person, in one line. */
export function sayBalance({ account, posted, held, available, staking }: ListedBalance): string {
  const own = `${account}  ${usd(available)} USD available  ${usd(posted)} posted  ${usd(held)} held`
  if (!staking) return own
  return `${own}  ${usd(staking.available)} of ${usd(staking.granted)} of today's staking credit available`
}

/** The same for a program: amounts as decimal USD. */
export const balanceAsJson = ({ account, kind, posted, held, available, staking }: ListedBalance) => ({
  account,
  kind,
  postedUsd: usd(posted),
  heldUsd: usd(held),
  availableUsd: usd(available),
  staking: staking && {
    grantedUsd: usd(staking.granted),
    spentUsd: usd(staking.spent),
    heldUsd: usd(staking.held),
    availableUsd: usd(staking.available),
  },
})
