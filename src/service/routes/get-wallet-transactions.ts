import { toUsdNumber } from '#contract/money.ts'
import { getWalletTransactions } from '#contract/wallet-records.ts'
import { json, principalOf } from '../call.ts'
import { balanceOf, entriesOf } from '../ledger/accounts.ts'
import { route } from '../route.ts'
import { ownWallet } from './get-wallet-balance.ts'

export const getWalletTransactionsRoute = route(getWalletTransactions, async (call, service) => {
  const walletAddress = ownWallet(call, call.params.walletAddress)
  const { limit, offset } = call.query
  const { account } = principalOf(call)
  // One more than asked for tells whether there is another page.
  const entries = await entriesOf(service.store, account, limit + 1, offset)
  const balance = await balanceOf(service.store, account)
  return json({
    success: true,
    data: {
      walletAddress,
      currentBalance: toUsdNumber(balance.postedMicroUsd),
      transactions: entries.slice(0, limit).map(entry => ({
        id: entry.id,
        amount: toUsdNumber(entry.amountMicroUsd),
        balanceAfter: toUsdNumber(entry.balanceAfterMicroUsd),
        type: entry.type,
        createdAt: new Date(entry.createdAtMs).toISOString(),
        requestId: entry.requestId,
        modelId: entry.modelId,
      })),
      pagination: { limit, offset, hasMore: entries.length > limit },
    },
  })
})
