import { LocalSvmFacilitator as Real } from '#payments/solana/local-svm-facilitator.ts'
import { around } from './around.ts'
import { answersAreLost } from './fault-orders.ts'

export * from '#payments/solana/local-svm-facilitator.ts'

export class LocalSvmFacilitator extends Real {
  override verify(...asked: Parameters<Real['verify']>) {
    return around('verifying', () => super.verify(...asked))
  }

  override async settle(...asked: Parameters<Real['settle']>) {
    const settlement = await around('settling', () => super.settle(...asked))
    if (answersAreLost()) throw new Error('The harness has lost this answer.')
    return settlement
  }
}
