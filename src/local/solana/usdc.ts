import { randomBytes } from 'node:crypto'
import {
  type Address,
  address,
  appendTransactionMessageInstructions,
  blockhash,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  type Instruction,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  getMintEncoder,
  getMintToInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token'
import { usdcDecimals, usdcOnSolana } from '#contract/wire/networks.ts'
import type { SolanaNode } from './node.ts'
import { mintBytes, readTokenAccount } from './token-account.ts'

const mint = address(usdcOnSolana)
const memoProgram = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr')

/** A million SOL: what the faucet spends on fees and rent in a lifetime is far below it. */
const faucetLamports = 10n ** 15n

/** Puts the mint where USDC has it and lets the faucet make tokens; changes nothing where that is done already. */
export function installUsdc(node: SolanaNode): void {
  if (node.account(mint)) return
  node.airdrop(node.faucet.address, faucetLamports)
  const facts = { mintAuthority: node.faucet.address, supply: 0n, decimals: usdcDecimals, isInitialized: true }
  const data = new Uint8Array(getMintEncoder().encode({ ...facts, freezeAuthority: null }))
  node.setAccount(mint, {
    lamports: node.rentFor(mintBytes),
    data,
    programAddress: TOKEN_PROGRAM_ADDRESS,
    executable: false,
  })
}

export const usdcAccountOf = async (owner: Address): Promise<Address> =>
  (await findAssociatedTokenPda({ mint, owner, tokenProgram: TOKEN_PROGRAM_ADDRESS }))[0]

/** New test dollars for a wallet, whose token account is opened where it has none; 0 opens it alone. In a block when it resolves. */
export async function mintUsdc(node: SolanaNode, owner: Address, amount: bigint): Promise<string> {
  const token = await usdcAccountOf(owner)
  const open = getCreateAssociatedTokenIdempotentInstruction({ payer: node.faucet, ata: token, owner, mint })
  const issue = getMintToInstruction({ mint, token, mintAuthority: node.faucet, amount })
  // Two that are alike would be one transaction.
  const memo: Instruction = { programAddress: memoProgram, data: Buffer.from(randomBytes(8).toString('hex')) }
  const lifetime = node.slots.latestBlockhash('processed')
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    it => setTransactionMessageFeePayerSigner(node.faucet, it),
    it =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash(lifetime.blockhash), lastValidBlockHeight: BigInt(lifetime.lastValidBlockHeight) },
        it,
      ),
    it => appendTransactionMessageInstructions([open, issue, memo], it),
  )
  const signed = await signTransactionMessageWithSigners(message)
  return node.send(Buffer.from(getBase64EncodedWireTransaction(signed), 'base64'), true)
}

export const usdcBalance = async (node: SolanaNode, owner: Address): Promise<bigint> =>
  readTokenAccount(node.account(await usdcAccountOf(owner)))?.amount ?? 0n
