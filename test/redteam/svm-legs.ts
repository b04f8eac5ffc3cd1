import { createHash } from 'node:crypto'
import { getCompiledTransactionMessageDecoder, getTransactionDecoder } from '@solana/kit'
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token'
import { usdcAccountOf } from '#local/solana/usdc.ts'
import { rails } from './rails.ts'

export interface SvmLeg {
  mint: string
  /** Whose account is paid where a fixture knows it, else the account itself. */
  owner: string
  amount: bigint
}

/** `Transfer` and `TransferChecked` of the token program. */
const [plainTransfer, checkedTransfer] = [3, 12]

/** Every transfer in a Solana payment; what cannot be read at all throws, and is a payment that nobody may make. */
export async function svmLegs(transaction: string): Promise<{ key: string; legs: SvmLeg[] }> {
  const { messageBytes } = getTransactionDecoder().decode(Buffer.from(transaction, 'base64'))
  const { instructions, staticAccounts } = getCompiledTransactionMessageDecoder().decode(messageBytes)
  const owners = await knownAccounts()
  const legs = instructions.flatMap(
    ({ programAddressIndex, accountIndices = [], data = new Uint8Array() }): SvmLeg[] => {
      if (staticAccounts[programAddressIndex] !== TOKEN_PROGRAM_ADDRESS) return []
      const isChecked = data[0] === checkedTransfer
      if (!isChecked && data[0] !== plainTransfer) return []
      const accountAt = (index: number) => staticAccounts[accountIndices[index] ?? -1] ?? ''
      const amount = Buffer.from(data).readBigUInt64LE(1)
      const account = accountAt(isChecked ? 2 : 1)
      return [{ mint: isChecked ? accountAt(1) : 'unknown', owner: owners.get(account) ?? account, amount }]
    },
  )
  return { key: createHash('sha256').update(Uint8Array.from(messageBytes)).digest('hex'), legs }
}

async function knownAccounts(): Promise<ReadonlyMap<string, string>> {
  const { legitimate, attacker, prose } = rails.svm
  const known = [legitimate, attacker, prose]
  return new Map(
    await Promise.all(known.map(async owner => [String(await usdcAccountOf(owner as never)), owner] as const)),
  )
}
