/** One payment as a key has signed it. */
export interface SignedPayment {
  /** Value of `PAYMENT-SIGNATURE`. Whoever holds it can collect the payment, so it is a secret. */
  payload: string
  nonce: string
  /** On Solana an estimate: there the height decides. */
  validBeforeMs: number
  /** On Solana: the last height at which a block may hold it, and the text by which it is found there. */
  chainLife?: { lastValidBlockHeight: number; memo: string }
}
