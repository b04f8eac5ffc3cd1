import { ledgerMutants } from './ledger-mutants.ts'
import type { Mutant } from './mutant.ts'
import { paymentMutants } from './payment-mutants.ts'
import { serviceMutants } from './service-mutants.ts'
import { walletMutants } from './wallet-mutants.ts'

/** Mistakes that lose or invent money, each with the fastest check that notices it. */
export const mutants: readonly Mutant[] = [...ledgerMutants, ...paymentMutants, ...serviceMutants, ...walletMutants]
