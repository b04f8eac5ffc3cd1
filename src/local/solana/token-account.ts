import { type Address, getAddressDecoder } from '@solana/kit'
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token'

/** What a node's answers call an account that exists. */
export interface NodeAccount {
  lamports: bigint
  data: Uint8Array
  programAddress: Address
  executable: boolean
}

const tokenAccountBytes = 165
export const mintBytes = 82

export interface TokenAccount {
  mint: Address
  owner: Address
  amount: bigint
}

/** Null where the account holds no tokens. */
export function readTokenAccount(account: NodeAccount | null): TokenAccount | null {
  if (account?.programAddress !== TOKEN_PROGRAM_ADDRESS || account.data.length !== tokenAccountBytes) return null
  const address = getAddressDecoder()
  const amount = Buffer.from(account.data).readBigUInt64LE(64)
  return { mint: address.decode(account.data, 0), owner: address.decode(account.data, 32), amount }
}

/** Null where the account is no mint. */
export const readDecimals = (account: NodeAccount | null): number | null =>
  account?.programAddress === TOKEN_PROGRAM_ADDRESS && account.data.length === mintBytes
    ? (account.data[44] ?? null)
    : null

/** An amount of tokens, as answers write it. */
export const tokenAmount = (amount: bigint, decimals: number) => ({
  amount: `${amount}`,
  decimals,
  uiAmount: Number(amount) / 10 ** decimals,
  uiAmountString: String(Number(amount) / 10 ** decimals),
})
