/** Apart from what grants the credit, because the package shows this type and none of its database. */

/** How long a call waits for a stake to be read: a node answers within 0.3 s, and USD must not wait for a dead one. */
export const stakeAnswerMs = 2_000

/** Decimals of a staking token: ERC-20 has 18, and no contract in use more than 36. */
export const stakeDecimals = 36

/** Who has staked how much. One token gives 1 USD of credit a day, so a millionth of a token is a micro-USD. */
export interface StakeReader {
  /** All that these wallets have staked together, in millionths of a token. Rejects where the chain does not tell. */
  stakeOf(wallets: readonly string[]): Promise<bigint>
}
