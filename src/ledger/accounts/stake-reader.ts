/** Who has staked how much. One token gives 1 USD of credit a day, so a millionth of a token is a micro-USD. */
export interface StakeReader {
  /** All that these wallets have staked together, in millionths of a token. Rejects where the chain does not tell. */
  stakeOf(wallets: readonly string[]): Promise<bigint>
}
