import { signerOf as real } from '#wallet/sign-payment.ts'
import { around } from '../../arm/around.ts'

export * from '#wallet/sign-payment.ts'

export const signerOf: typeof real = async till => {
  const sign = await real(till)
  return (...signing) => around('signing', () => sign(...signing))
}
