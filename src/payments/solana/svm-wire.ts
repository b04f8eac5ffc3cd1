import type { SvmPayment } from '../payment/signed-payment.ts'

/** The whole transaction, base64: how many signatures, the fee payer's, the payer's, and what they sign. */
export const wireOf = (feePayerSignature: Uint8Array, { signature, message }: SvmPayment): string =>
  Buffer.concat([
    Buffer.of(2),
    feePayerSignature,
    Buffer.from(signature, 'base64'),
    Buffer.from(message, 'base64'),
  ]).toString('base64')
