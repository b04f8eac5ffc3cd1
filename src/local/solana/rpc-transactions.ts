import { getBase58Decoder, getCompiledTransactionMessageDecoder, getTransactionDecoder } from '@solana/kit'
import type { Executed } from './executed.ts'
import type { Slots } from './slots.ts'

/** A transaction as `getTransaction` answers it. */
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

/** A transaction's memos as a node lists them, each after its length; null where there is none. */
export function memoOf({ transaction }: Executed): string | null {
  const { messageBytes } = getTransactionDecoder().decode(Buffer.from(transaction, 'base64'))
  const { staticAccounts, instructions } = getCompiledTransactionMessageDecoder().decode(messageBytes)
  const memos = instructions
    .filter(({ programAddressIndex }) => memoPrograms.has(staticAccounts[programAddressIndex] ?? ''))
    .map(({ data = new Uint8Array() }) => `[${data.length}] ${Buffer.from(data).toString()}`)
  return memos.length === 0 ? null : memos.join('; ')
}

/** One line of `getSignatureStatuses`. */
export function statusAnswer(executed: Executed | null, slots: Slots) {
  if (!executed) return null
  const { slot, err, height } = executed
  const { status: confirmationStatus, confirmations } = slots.commitmentOf(height)
  return { slot, confirmations, err, confirmationStatus, status: err === null ? { Ok: null } : { Err: err } }
}
