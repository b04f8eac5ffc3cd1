import { signerOf as real } from '#wallet/payment/payer.ts'
import { pass } from './halts.ts'
import { tell } from './tell.ts'

export * from '#wallet/payment/payer.ts'

export const signerOf: typeof real = async till => {
  // Everything open has ended, and nothing is planned yet: two who are both here would both plan.
  pass('before planning')
  const sign = await real(till)
  return async (...signing) => {
    tell({ kind: 'signs' })
    pass('before signing')
    const signed = await sign(...signing)
    pass('after signing')
    return signed
  }
}
