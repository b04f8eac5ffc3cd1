import { randomBytes } from 'node:crypto'
import {
  type Address,
  address,
  appendTransactionMessageInstructions,
  blockhash,
  createTransactionMessage,
  getAddressDecoder,
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

/** An account as a node's answers describe it. */
export interface NodeAccount {
  lamports: bigint
  data: Uint8Array
  programAddress: Address
  executable: boolean
}

const tokenAccountBytes = 165
const mintBytes = 82

interface TokenAccount {
  mint: Address
  owner: Address
  amount: bigint
}

/** Returns null if the account holds no tokens. */
export function readTokenAccount(account: NodeAccount | null): TokenAccount | null {
  if (account?.programAddress !== TOKEN_PROGRAM_ADDRESS || account.data.length !== tokenAccountBytes) return null
  const address = getAddressDecoder()
  const amount = Buffer.from(account.data).readBigUInt64LE(64)
  return { mint: address.decode(account.data, 0), owner: address.decode(account.data, 32), amount }
}

/** Returns null if the account is not a mint. */
export const readDecimals = (account: NodeAccount | null): number | null =>
  account?.programAddress === TOKEN_PROGRAM_ADDRESS && account.data.length === mintBytes
    ? (account.data[44] ?? null)
    : null

/** Formats an amount of tokens for answers. */
export const tokenAmount = (amount: bigint, decimals: number) => ({
  amount: `${amount}`,
  decimals,
  uiAmount: Number(amount) / 10 ** decimals,
  uiAmountString: String(Number(amount) / 10 ** decimals),
})

const mint = address(usdcOnSolana)
const memoProgram = address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr')

/** A million SOL: far more than the faucet ever spends on fees and rent. */
const faucetLamports = 10n ** 15n

/** Installs the mint at USDC's address and lets the faucet mint tokens; changes nothing if that is already done. */
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

/**
 * Mints test dollars for a wallet, whose token account is opened if needed; 0 only opens it. The transaction is in a
 * block when this resolves.
 */
export async function mintUsdc(node: SolanaNode, owner: Address, amount: bigint): Promise<string> {
  const token = await usdcAccountOf(owner)
  const open = getCreateAssociatedTokenIdempotentInstruction({ payer: node.faucet, ata: token, owner, mint })
  const issue = getMintToInstruction({ mint, token, mintAuthority: node.faucet, amount })
  // Makes the transaction unique, because two equal ones would be one.
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
