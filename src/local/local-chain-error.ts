/** The local chain cannot do what was asked. The message is one sentence with the next step, fit for a terminal. */
export class LocalChainError extends Error {
  override readonly name = 'LocalChainError'
}
