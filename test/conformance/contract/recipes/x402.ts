import type { Recipes } from '../recipe.ts'
import type { Stand } from '../stand.ts'

const own = (what: string) => (stand: Stand) => ({
  path: `/x402/${what}/${stand.wallet.address}`,
  as: 'wallet' as const,
})
const strangers = (what: string) => ({ path: `/x402/${what}/0x${'12'.repeat(20)}`, as: 'wallet' as const })
const none = (what: string) => ({ path: `/x402/${what}/nobody`, as: 'wallet' as const })

export const x402Recipes: Recipes = {
  topUpX402Balance: {
    succeeds: [{ as: 'nobody', headers: { 'payment-signature': 'paid' }, body: {} }],
    reaches: {
      400: { as: 'nobody', headers: { 'payment-signature': 'none' } },
      402: { as: 'nobody' },
      500: { as: 'nobody', headers: { 'payment-signature': 'broken' } },
    },
  },
  getX402Balance: { succeeds: [own('balance')], reaches: { 400: none('balance'), 403: strangers('balance') } },
  getX402Transactions: {
    succeeds: [own('transactions')],
    reaches: { 400: none('transactions'), 403: strangers('transactions') },
  },
}
