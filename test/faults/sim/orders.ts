import type { SignedPayment } from '#payments/payment/payment.ts'

/** What a payer has signed, as a chain sees it, whichever rail it is. */
export interface Order {
  rail: 'evm' | 'svm'
  /** The nonce of an authorization, or the hash of a message: a chain takes it once. The payment's key ends with it. */
  id: string
  from: string
  to: string
  amount: bigint
  /** The chain takes it in no block before and none from then on, by the time of its blocks. */
  validAfterMs: number
  validBeforeMs: number
  /** False if another party made the signature. */
  isSigned: boolean
}

export const orderIdOf = ({ key }: SignedPayment): string => key.slice(key.lastIndexOf(':') + 1)
