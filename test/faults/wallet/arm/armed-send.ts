import { paymentSignature } from '#contract/wire/headers.ts'
import { EvmPayload } from '#contract/wire/payment.ts'
import { sendOnce as real } from '#wallet/payment/send-payment.ts'
import { isDueAt } from '../../arm/fault-orders.ts'
import { flightPoints } from '../points.ts'
import { pass } from './halts.ts'
import { tellAndWait } from './tell.ts'

export * from '#wallet/payment/send-payment.ts'

export const sendOnce: typeof real = async (send, payload, address) => {
  pass('before sending')
  for (const point of flightPoints) {
    // The service kills the process, because it alone knows when the payment has come to it.
    if (isDueAt(point)) await tellAndWait({ kind: 'dies', point, nonce: nonceOf(payload) })
  }
  const outcome = await real(send, payload, address)
  pass('answered')
  return outcome
}

const nonceOf = (payload: string): string =>
  EvmPayload.parse(paymentSignature.parse(payload)?.payload).authorization.nonce
