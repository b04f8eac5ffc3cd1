/** The chain could not be asked, so nothing is known about the payment. The cause is for the operator. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable'
}
