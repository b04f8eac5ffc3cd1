/** In a file that does not import the database, because the package's public types include it. */

/**
 * How long a call waits for a stake: a node answers within 0.3 s, and a call that can pay with USD must not wait for
 * one that is down.
 */
export const stakeAnswerMs = 2_000

/** Most decimals of a staking token: ERC-20 has 18, and no contract in use more than 36. */
export const stakeDecimals = 36

/** Reads how much is staked. One token gives 1 USD of credit per day, so a millionth of a token is a micro-USD. */
export interface StakeReader {
  /** Returns the total stake of these wallets, in millionths of a token. Rejects if the chain does not answer. */
  stakeOf(wallets: readonly string[]): Promise<bigint>
}
