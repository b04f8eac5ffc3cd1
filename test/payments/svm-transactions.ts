import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstructions,
  blockhash,
  compileTransaction,
  createTransactionMessage,
  getTransactionEncoder,
  type Instruction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit'
import { getSetComputeUnitLimitInstruction, getSetComputeUnitPriceInstruction } from '@solana-program/compute-budget'
import { getTransferCheckedInstruction, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token'
import { usdcOnSolana } from '#contract/wire/networks.ts'
import { usdcAccountOf } from '#local/solana/token.ts'
import type { SvmAccount } from './svm-chain.ts'
import type { SvmWorld } from './svm-world.ts'
import type { Loose } from './top-up-world.ts'

/** A transaction before it is compiled; attacks change it. */
export interface Draft {
  version: 0 | 'legacy'
  feePayer: string
  blockhash: string
  instructions: Instruction[]
  /** Who sign, of those that must. */
  signers: SvmAccount[]
}

export const memoProgram = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr')

export const named = (at: string, role: AccountRole = AccountRole.READONLY) => ({ address: address(at), role })

export const memo = (text: string, accounts: Instruction['accounts'] = []): Instruction => ({
  programAddress: memoProgram,
  accounts,
  data: Buffer.from(text),
})

export const limit = (units: number): Instruction => getSetComputeUnitLimitInstruction({ units })
export const price = (microLamports: bigint): Instruction => getSetComputeUnitPriceInstruction({ microLamports })

export interface Transfer {
  source: string
  mint: string
  destination: string
  authority: string
  amount: bigint
  decimals: number
  program: Address
}

export const transferOf = async (
  payer: { address: string },
  payTo: string,
  changes: Partial<Transfer> = {},
): Promise<Instruction> => {
  const terms = {
    source: await usdcAccountOf(address(payer.address)),
    destination: await usdcAccountOf(address(payTo)),
    ...{
      mint: usdcOnSolana,
      authority: payer.address,
      amount: 5_000_000n,
      decimals: 6,
      program: TOKEN_PROGRAM_ADDRESS,
    },
    ...changes,
  }
  const made = getTransferCheckedInstruction(
    {
      source: address(terms.source),
      mint: address(terms.mint),
      destination: address(terms.destination),
      authority: address(terms.authority),
      amount: terms.amount,
      decimals: terms.decimals,
    },
    { programAddress: terms.program },
  )
  const accounts = [...made.accounts]
  accounts[3] = { ...accounts[3], address: address(terms.authority), role: AccountRole.READONLY_SIGNER } as never
  return { ...made, accounts }
}

/** What an honest payer would send: limit, price, transfer, memo. */
export async function draftOf(world: SvmWorld, account: SvmAccount): Promise<Draft> {
  const transfer = await transferOf(account, world.payee.address)
  return {
    version: 0,
    feePayer: world.feePayer.address,
    blockhash: world.chain.node.slots.latestBlockhash('processed').blockhash,
    instructions: [limit(20_000), price(1n), transfer, memo(Math.random().toString(16))],
    signers: [account],
  }
}

/** Base64 of the transaction, with zeros for signatures that are missing. */
export function compile({ version, feePayer, blockhash: hash, instructions, signers }: Draft): string {
  const lifetime = { blockhash: blockhash(hash), lastValidBlockHeight: 0n }
  // Of which version it is, is not known when this is compiled, and kit's types want to.
  const message = pipe(
    createTransactionMessage({ version: version as 0 }),
    it => setTransactionMessageFeePayer(address(feePayer), it),
    it => setTransactionMessageLifetimeUsingBlockhash(lifetime, it),
    it => appendTransactionMessageInstructions(instructions, it),
  )
  const { messageBytes, signatures } = compileTransaction(message)
  const signed: Record<string, unknown> = { ...signatures }
  for (const { address: at, key } of signers) if (at in signed) signed[at] = key.sign(new Uint8Array(messageBytes))
  const wire = getTransactionEncoder().encode({ messageBytes, signatures: signed } as never)
  return Buffer.from(wire).toString('base64')
}

export const paymentOf = (world: SvmWorld, transaction: string): Loose => ({
  x402Version: 2,
  accepted: structuredClone(world.option),
  payload: { transaction },
})

/** A payment whose transaction was changed before it was signed. */
export async function craft(
  world: SvmWorld,
  account: SvmAccount,
  change: (draft: Draft) => unknown = () => undefined,
): Promise<Loose> {
  const draft = await draftOf(world, account)
  await change(draft)
  return paymentOf(world, compile(draft))
}

/** Changes bytes of a signed transaction. */
export function rewrite(payment: Loose, change: (bytes: Buffer) => Buffer | undefined): Loose {
  const bytes = Buffer.from(payment.payload.transaction, 'base64')
  const changed = change(bytes) ?? bytes
  return { ...payment, payload: { transaction: changed.toString('base64') } }
}

/** Where the message of a transaction with two signatures begins. */
export const messageStart = 1 + 2 * 64

/** Changes the message of a transaction and lets its payer sign what came of it. */
export const rewriteMessage = (
  payment: Loose,
  payer: SvmAccount,
  change: (message: Buffer) => Buffer | undefined,
): Loose =>
  rewrite(payment, bytes => {
    const message = Buffer.from(bytes.subarray(messageStart))
    const changed = change(message) ?? message
    return Buffer.concat([Buffer.of(2), Buffer.alloc(64), payer.key.sign(changed), changed])
  })
