import { invalidPayment, topUpRequired } from '#contract/errors/errors.ts'
import type { Payments } from '#payments/top-ups/top-up-offer.ts'
import { testOption } from '../../service/open-service.ts'

/** Settles the payment `paid`, refuses every other; payments themselves have tests on chains. */
export const doublePayments: Payments = {
  async topUp({ header, count }) {
    const [payment] = header('payment-signature')
    await count(payment === undefined ? 'offer' : 'address')
    if (payment === undefined) throw topUpRequired({ x402Version: 2, accepts: [testOption] })
    if (payment === 'broken') throw new Error('The facilitator broke.')
    if (payment !== 'paid') {
      throw invalidPayment({ error: 'X402_INVALID_PAYMENT', message: 'The payment is none.', details: { reason: 'x' } })
    }
    const walletAddress = `0x${'ab'.repeat(20)}`
    const data = { walletAddress, amountCredited: 5, newBalance: 5, paymentId: 'payment' }
    return {
      body: JSON.stringify({ success: true, data }),
      settlement: {
        success: true,
        network: testOption.network,
        payer: walletAddress,
        transaction: `0x${'cd'.repeat(32)}`,
      },
    }
  },
}
