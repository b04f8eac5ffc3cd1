/**
 * A guess at a passphrase or a password costs a third of a second of work and much memory, and tests make hundreds. What
 * they write costs little, and says so of itself; `wallet/keys.test.ts` and `operator/sign-in/password.test.ts` hold the
 * real costs.
 */
import { passwordCost } from '#operator/sign-in/password.ts'
import { keyDerivation } from '#wallet/limits.ts'

Object.assign(keyDerivation, { logN: 10 })
Object.assign(passwordCost, { logN: 10 })
