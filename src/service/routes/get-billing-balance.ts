import { type BillingBalance, getBillingBalance } from '#contract/billing.ts'
import { toUsdNumber } from '#contract/money.ts'
import { json, principalOf } from '../call.ts'
import { route } from '../route.ts'

export const getBillingBalanceRoute = route(getBillingBalance, async (call, { funding }) => {
  const { usd, staking } = await call.spendable()
  const allocation = await funding.stakingToday(principalOf(call))
  const body: BillingBalance = {
    canConsume: usd > 0n || (staking ?? 0n) > 0n,
    consumptionCurrency: (staking ?? 0n) > 0n ? 'DIEM' : usd > 0n ? 'USD' : null,
    balances: { diem: staking === null ? null : toUsdNumber(staking), usd: toUsdNumber(usd) },
    diemEpochAllocation: toUsdNumber(allocation ?? 0n),
  }
  return json(body)
})
