import {
  type Address,
  getAddressDecoder,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit'
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token'
import type { Executed } from './executed.ts'
import type { SolanaNode } from './node.ts'
import type { Slots } from './slots.ts'
import { type NodeAccount, readDecimals, readTokenAccount, tokenAmount } from './token.ts'

/** Formats a transaction as `getTransaction` returns it. */
export function transactionAnswer(executed: Executed, encoding: unknown) {
  const { slot, atSeconds, err, fee, units, logs } = executed
  const { preBalances, postBalances, preTokenBalances, postTokenBalances } = executed
  const bytes = Buffer.from(executed.transaction, 'base64')
  const transaction = getTransactionDecoder().decode(bytes)
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
  return {
    slot,
    blockTime: atSeconds,
    version: message.version,
    meta: {
      ...{ err, status: err === null ? { Ok: null } : { Err: err }, fee, computeUnitsConsumed: units },
      ...{ preBalances, postBalances, preTokenBalances, postTokenBalances },
      ...{ logMessages: logs, innerInstructions: [], rewards: [], loadedAddresses: { readonly: [], writable: [] } },
    },
    transaction: encodedTransaction(bytes, encoding),
  }
}

function encodedTransaction(bytes: Uint8Array, encoding: unknown) {
  if (encoding === 'base64') return [Buffer.from(bytes).toString('base64'), 'base64']
  const base58 = getBase58Decoder()
  if (encoding === 'base58') return [base58.decode(bytes), 'base58']
  const { signatures, messageBytes } = getTransactionDecoder().decode(bytes)
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = message.header
  return {
    signatures: Object.values(signatures).map(each => base58.decode(each ?? new Uint8Array(64))),
    message: {
      accountKeys: message.staticAccounts,
      header: {
        numRequiredSignatures: numSignerAccounts,
        numReadonlySignedAccounts: numReadonlySignerAccounts,
        numReadonlyUnsignedAccounts: numReadonlyNonSignerAccounts,
      },
      recentBlockhash: message.lifetimeToken,
      instructions: message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
        programIdIndex: programAddressIndex,
        accounts: accountIndices,
        data: base58.decode(data ?? new Uint8Array()),
        stackHeight: null,
      })),
    },
  }
}

const memoPrograms: ReadonlySet<string> = new Set([
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
])

/** Returns a transaction's memos as a node lists them, each after its length; null if there are none. */
export function memoOf({ transaction }: Executed): string | null {
  const { messageBytes } = getTransactionDecoder().decode(Buffer.from(transaction, 'base64'))
  const { staticAccounts, instructions } = getCompiledTransactionMessageDecoder().decode(messageBytes)
  const memos = instructions
    .filter(({ programAddressIndex }) => memoPrograms.has(staticAccounts[programAddressIndex] ?? ''))
    .map(({ data = new Uint8Array() }) => `[${data.length}] ${Buffer.from(data).toString()}`)
  return memos.length === 0 ? null : memos.join('; ')
}

/** Formats one entry of `getSignatureStatuses`. */
export function statusAnswer(executed: Executed | null, slots: Slots) {
  if (!executed) return null
  const { slot, err, height } = executed
  const { status: confirmationStatus, confirmations } = slots.commitmentOf(height)
  return { slot, confirmations, err, confirmationStatus, status: err === null ? { Ok: null } : { Err: err } }
}

/** Formats an account as a node returns it. */
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

/**
 * The parsed form that wallets request instead of bytes; null for an account that is neither a mint nor a token
 * account.
 */
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

/** Returns an owner's token accounts, of one mint or all. */
export const tokenAccountsOf = (node: SolanaNode, owner: Address, mint: string | null) =>
  node.accountsOf(TOKEN_PROGRAM_ADDRESS).filter(({ account }) => {
    const token = readTokenAccount(account)
    return token?.owner === owner && (mint === null || token.mint === mint)
  })

/** Returns null if the account holds no tokens. */
export function tokenBalanceAnswer(node: SolanaNode, at: Address) {
  const token = readTokenAccount(node.account(at))
  return token && tokenAmount(token.amount, readDecimals(node.account(token.mint)) ?? 0)
}
