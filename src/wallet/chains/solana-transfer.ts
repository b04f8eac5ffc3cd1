import { randomBytes } from 'node:crypto'
import { usdcDecimals } from '#contract/wire/networks.ts'
import * as limits from '../limits.ts'
import { memoProgram } from './solana-programs.ts'

export interface TransferTerms {
  /** Owns the tokens. */
  payer: string
  payTo: string
  mint: string
  /** Base units of the mint. */
  amount: bigint
  feePayer: string
  lifetime: Blockhash
}

export interface Blockhash {
  blockhash: string
  lastValidBlockHeight: bigint
}

/**
 * The message of one payment, and the whole of it: a bound of what it may cost, its price, one transfer to the payee's own
 * token account, and a random memo, which makes two equal payments two. Nothing of a service's offer becomes an
 * instruction. The libraries are read only here, by what signs.
 */
export async function composeTransfer({ payer, payTo, mint, amount, feePayer, lifetime }: TransferTerms) {
  const [kit, computeBudget, token] = await Promise.all([
    import('@solana/kit'),
    import('@solana-program/compute-budget'),
    import('@solana-program/token'),
  ])
  const [owner, mintAddress] = [kit.address(payer), kit.address(mint)]
  const [source, destination] = await Promise.all([tokenAccountOf(payer, mint), tokenAccountOf(payTo, mint)])
  const memo = randomBytes(limits.transferMemoBytes).toString('hex')
  const instructions = [
    computeBudget.getSetComputeUnitLimitInstruction({ units: limits.transferComputeUnits }),
    computeBudget.getSetComputeUnitPriceInstruction({ microLamports: limits.transferMicroLamportsPerUnit }),
    token.getTransferCheckedInstruction({
      source: kit.address(source),
      mint: mintAddress,
      destination: kit.address(destination),
      authority: kit.createNoopSigner(owner),
      amount,
      decimals: usdcDecimals,
    }),
    {
      programAddress: kit.address(memoProgram),
      data: Buffer.from(memo),
    },
  ]
  const blockhash = {
    blockhash: kit.blockhash(lifetime.blockhash),
    lastValidBlockHeight: lifetime.lastValidBlockHeight,
  }
  const message = kit.pipe(
    kit.createTransactionMessage({ version: 0 }),
    empty => kit.setTransactionMessageFeePayer(kit.address(feePayer), empty),
    paid => kit.setTransactionMessageLifetimeUsingBlockhash(blockhash, paid),
    timed => kit.appendTransactionMessageInstructions(instructions, timed),
  )
  const { messageBytes, signatures } = kit.compileTransaction(message)
  return {
    bytes: Uint8Array.from(messageBytes),
    memo,
    /** The whole transaction in base64, the fee payer's signature still to come. */
    withSignature: (signature: Uint8Array): string =>
      kit.getBase64EncodedWireTransaction({
        messageBytes,
        signatures: { ...signatures, [owner]: signature as never },
      } as never),
  }
}

/** Where an owner keeps its tokens of a mint: an address that follows from both. */
export async function tokenAccountOf(owner: string, mint: string): Promise<string> {
  const [{ address }, { findAssociatedTokenPda, TOKEN_PROGRAM_ADDRESS }] = await Promise.all([
    import('@solana/kit'),
    import('@solana-program/token'),
  ])
  const seeds = { owner: address(owner), mint: address(mint), tokenProgram: TOKEN_PROGRAM_ADDRESS }
  return (await findAssociatedTokenPda(seeds))[0]
}
