import { type Address, getAddressDecoder, getBase58Decoder } from '@solana/kit'
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token'
import type { SolanaNode } from './node.ts'
import { type NodeAccount, readDecimals, readTokenAccount, tokenAmount } from './token-account.ts'

/** An account as a node's answers have it. */
export function accountAnswer(node: SolanaNode, account: NodeAccount | null, encoding: unknown) {
  if (!account) return null
  const { lamports, programAddress: owner, executable, data } = account
  return { lamports, owner, executable, rentEpoch: 0, space: data.length, data: dataAnswer(node, account, encoding) }
}

function dataAnswer(node: SolanaNode, account: NodeAccount, encoding: unknown) {
  const parsed = encoding === 'jsonParsed' ? parsedAccount(node, account) : null
  if (parsed) return { program: 'spl-token', parsed, space: account.data.length }
  if (encoding === 'base58') return [getBase58Decoder().decode(account.data), 'base58']
  if (encoding === undefined) return getBase58Decoder().decode(account.data)
  return [Buffer.from(account.data).toString('base64'), 'base64']
}

/** What wallets ask for instead of reading the bytes; null for what is neither a mint nor a token account. */
function parsedAccount(node: SolanaNode, account: NodeAccount) {
  const decimals = readDecimals(account)
  if (decimals !== null) {
    const bytes = Buffer.from(account.data)
    const mintAuthority = bytes.readUInt32LE(0) === 1 ? getAddressDecoder().decode(bytes, 4) : null
    const supply = `${bytes.readBigUInt64LE(36)}`
    return { type: 'mint', info: { decimals, supply, mintAuthority, freezeAuthority: null, isInitialized: true } }
  }
  const token = readTokenAccount(account)
  if (!token) return null
  const { mint, owner, amount } = token
  const held = tokenAmount(amount, readDecimals(node.account(mint)) ?? 0)
  return { type: 'account', info: { mint, owner, tokenAmount: held, state: 'initialized', isNative: false } }
}

/** The token accounts of an owner that are of one mint, or all of them. */
export const tokenAccountsOf = (node: SolanaNode, owner: Address, mint: string | null) =>
  node.accountsOf(TOKEN_PROGRAM_ADDRESS).filter(({ account }) => {
    const token = readTokenAccount(account)
    return token?.owner === owner && (mint === null || token.mint === mint)
  })

/** Null where the account holds no tokens. */
export function tokenBalanceAnswer(node: SolanaNode, at: Address) {
  const token = readTokenAccount(node.account(at))
  return token && tokenAmount(token.amount, readDecimals(node.account(token.mint)) ?? 0)
}
