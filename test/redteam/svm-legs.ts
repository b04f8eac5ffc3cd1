import { createHash, createPublicKey, verify } from 'node:crypto'
import { getCompiledTransactionMessageDecoder, getTransactionDecoder } from '@solana/kit'
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { usdcAccountOf } from '#local/solana/token.ts'
import { rails } from './rails.ts'

export interface SvmLeg {
  mint: string
  /** Whose account is paid where a fixture knows it, else the account itself. */
  owner: string
  amount: bigint
  /** Who has to sign for it. */
  payer: string
  isSigned: boolean
}

/** `Transfer` and `TransferChecked` of the token program, `Transfer` of the system program. */
const [plainTransfer, checkedTransfer, solTransfer] = [3, 12, 2]
const systemProgram = '1'.repeat(32)

/** Every transfer in a Solana payment; an unreadable one throws, and must never be signed. */
export async function svmLegs(transaction: string): Promise<{ key: string; legs: SvmLeg[] }> {
  const { messageBytes, signatures } = getTransactionDecoder().decode(Buffer.from(transaction, 'base64'))
  const { instructions, staticAccounts } = getCompiledTransactionMessageDecoder().decode(messageBytes)
  const owners = await knownAccounts()
  const found = instructions.flatMap(instruction => {
    const { programAddressIndex, accountIndices = [], data = new Uint8Array() } = instruction
    const [program, bytes] = [staticAccounts[programAddressIndex], Buffer.from(data)]
    const accountAt = (index: number) => staticAccounts[accountIndices[index] ?? -1] ?? ''
    if (program === systemProgram && bytes[0] === solTransfer)
      return [{ mint: 'SOL', owner: accountAt(1), amount: bytes.readBigUInt64LE(4), payer: accountAt(0) }]
    if (program !== TOKEN_PROGRAM_ADDRESS) return []
    const isChecked = bytes[0] === checkedTransfer
    if (!isChecked && bytes[0] !== plainTransfer) return []
    const account = accountAt(isChecked ? 2 : 1)
    const [mint, payer] = isChecked ? [accountAt(1), accountAt(3)] : ['unknown', accountAt(2)]
    return [{ mint, owner: owners.get(account) ?? account, amount: bytes.readBigUInt64LE(1), payer }]
  })
  const legs = found.map(leg => ({ ...leg, isSigned: isSigned(leg.payer, signatures, messageBytes) }))
  return { key: createHash('sha256').update(Uint8Array.from(messageBytes)).digest('hex'), legs }
}

async function knownAccounts(): Promise<ReadonlyMap<string, string>> {
  const { legitimate, attacker, prose } = rails.svm
  const known = [legitimate, attacker, prose]
  return new Map(
    await Promise.all(known.map(async owner => [String(await usdcAccountOf(owner as never)), owner] as const)),
  )
}

function isSigned(payer: string, signatures: Readonly<Record<string, unknown>>, message: ArrayLike<number>): boolean {
  const [signature, key] = [signatures[payer], decodeBase58(payer, 32)]
  if (!(signature instanceof Uint8Array) || !key) return false
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(key).toString('base64url') }
  return verify(null, Uint8Array.from(message), createPublicKey({ key: jwk, format: 'jwk' }), signature)
}
