/**
 * A guess at a passphrase or a password costs a third of a second of work and much memory, and tests make hundreds. What
 * they write costs little, and says so of itself; `wallet/keys.test.ts` and `operator/sign-in/password.test.ts` hold the
 * real costs.
 */
import { passwordCost } from '#operator/sign-in/password.ts'
import { keyDerivation } from '#wallet/limits.ts'

const costs = [keyDerivation, passwordCost]

/** Files that share a process share the modules too, so only the first finds the product's own costs. */
const shared = globalThis as { productCosts?: readonly object[] }
shared.productCosts ??= costs.map(cost => ({ ...cost }))

const cheapen = () => {
  for (const cost of costs) Object.assign(cost, { logN: 10 })
}
cheapen()

/** Runs something at the costs of the product. */
export async function atProductCosts<Value>(run: () => Promise<Value>): Promise<Value> {
  for (const [place, cost] of costs.entries()) Object.assign(cost, shared.productCosts?.[place])
  try {
    return await run()
  } finally {
    cheapen()
  }
}
