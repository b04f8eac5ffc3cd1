import type { CompiledTransactionMessage } from '@solana/kit'
import { COMPUTE_BUDGET_PROGRAM_ADDRESS } from '@solana-program/compute-budget'

const lamportsPerSignature = 5_000
const microLamports = 1_000_000n

/** What a transaction costs whoever pays for it, in lamports: so much a signature, and what it offers to come sooner. */
export function feeOf(message: CompiledTransactionMessage): number {
  let [units, price] = [200_000n * BigInt(message.instructions.length), 0n]
  for (const { programAddressIndex, data } of message.instructions) {
    if (message.staticAccounts[programAddressIndex] !== COMPUTE_BUDGET_PROGRAM_ADDRESS || !data) continue
    const bytes = Buffer.from(data)
    if (bytes[0] === 2 && bytes.length === 5) units = BigInt(bytes.readUInt32LE(1))
    if (bytes[0] === 3 && bytes.length === 9) price = bytes.readBigUInt64LE(1)
  }
  const priority = (units * price + microLamports - 1n) / microLamports
  return message.header.numSignerAccounts * lamportsPerSignature + Number(priority)
}
