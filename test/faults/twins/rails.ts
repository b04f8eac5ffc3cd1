import { openEvmRail } from './evm-rail.ts'
import type { Rail } from './rail.ts'
import { openSvmRail } from './svm-rail.ts'

/** By the word that names each on the command line. */
export const rails: Readonly<Record<string, () => Promise<Rail>>> = { evm: openEvmRail, solana: openSvmRail }
