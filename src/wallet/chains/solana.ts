import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { MicroUsd } from '#contract/money.ts'
import { decodeBase58, encodeBase58 } from '#contract/wire/base58.ts'
import { paymentSignature } from '#contract/wire/headers.ts'
import { usdcDecimals, x402Version } from '#contract/wire/networks.ts'
import type { SolanaKey } from '../keys/keys.ts'
import * as limits from '../limits.ts'
import { blockhashLifeMs } from '../limits.ts'
import type { Payment } from '../records/journal.ts'
import type { ChosenOffer, SignedPayment } from '../terms/order.ts'
import { WalletRefusal } from '../terms/refusal.ts'
import { askNode, type ChainNodes } from './nodes.ts'

/** A text of valid length may still encode 33 bytes, which no message can hold. */
const hashBytes = 32

const LatestBlockhash = z.object({
  value: z.object({
    blockhash: z.string().refine(text => decodeBase58(text, hashBytes) !== null),
    lastValidBlockHeight: z.int().nonnegative(),
  }),
})

/**
 * Returns the blockhash that limits how long a transfer signed now can be settled. With a wrong one, the transfer could
 * be settled for ever, or never.
 */
export async function latestBlockhash(nodeUrl: string): Promise<Blockhash> {
  // Finalized, so that every node that the service may use knows it.
  const { value } = await askNode(nodeUrl, 'getLatestBlockhash', [{ commitment: 'finalized' }], LatestBlockhash)
  return { blockhash: value.blockhash, lastValidBlockHeight: BigInt(value.lastValidBlockHeight) }
}

/**
 * Signs one transfer to the chosen payee (x402 version 2, scheme `exact` on Solana). The policy decides the amount, and
 * the mint and its decimals are constants. The offer's fee payer pays the fee and signs after us.
 */
export async function signSvmPayment(
  key: SolanaKey,
  { option, payee }: ChosenOffer,
  amountMicroUsd: MicroUsd,
  lifetime: Blockhash,
  nowMs: number,
): Promise<SignedPayment> {
  const feePayer = String(option.extra?.feePayer)
  const terms = { payer: key.address, payTo: payee.payTo, mint: payee.asset, feePayer, lifetime }
  const { bytes, memo, withSignature } = await composeTransfer({ ...terms, amount: amountMicroUsd })
  const transaction = withSignature(key.signBytes(bytes))
  const { scheme, network, asset, payTo, maxTimeoutSeconds, extra } = option
  const amount = amountMicroUsd.toString()
  const accepted = { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra }
  return {
    payload: paymentSignature.format({ x402Version, accepted, payload: { transaction } }),
    // The transaction's own id is the fee payer's signature, which does not exist yet.
    nonce: createHash('sha256').update(bytes).digest('hex'),
    validBeforeMs: nowMs + blockhashLifeMs,
    chainLife: { lastValidBlockHeight: Number(lifetime.lastValidBlockHeight), memo },
  }
}

interface TransferTerms {
  /** Owns the tokens. */
  payer: string
  payTo: string
  mint: string
  /** Base units of the mint. */
  amount: bigint
  feePayer: string
  lifetime: Blockhash
}

interface Blockhash {
  blockhash: string
  lastValidBlockHeight: bigint
}

/**
 * Composes the whole message of one payment: a limit on its cost, its price, one transfer to the payee's token account,
 * and a random memo that makes equal payments distinct. Nothing in a service's offer becomes an instruction. The
 * libraries are loaded only here, when signing.
 */
async function composeTransfer({ payer, payTo, mint, amount, feePayer, lifetime }: TransferTerms) {
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
    /** The whole transaction in base64, without the fee payer's signature. */
    withSignature: (signature: Uint8Array): string =>
      kit.getBase64EncodedWireTransaction({
        messageBytes,
        signatures: { ...signatures, [owner]: signature as never },
      } as never),
  }
}

/** Returns the address of an owner's account for a mint, which is derived from both. */
export async function tokenAccountOf(owner: string, mint: string): Promise<string> {
  const [{ address }, { findAssociatedTokenPda, TOKEN_PROGRAM_ADDRESS }] = await Promise.all([
    import('@solana/kit'),
    import('@solana-program/token'),
  ])
  const seeds = { owner: address(owner), mint: address(mint), tokenProgram: TOKEN_PROGRAM_ADDRESS }
  return (await findAssociatedTokenPda(seeds))[0]
}

/** The layout of a token account: its mint, its owner, and later whether it is usable or frozen. */
const accountBytes = 165
const [ownerAt, stateAt] = [32, 108]
const isUsable = 1

const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'

const Account = z.object({
  value: z.object({ owner: z.string(), data: z.tuple([z.string(), z.literal('base64')]) }).nullable(),
})

/** Returns who owns a usable token account of a mint. Null if the address holds no such account. */
export async function tokenAccountOwner(url: string, address: string, mint: string): Promise<string | null> {
  const config = { encoding: 'base64', commitment: 'confirmed' }
  const { value } = await askNode(url, 'getAccountInfo', [address, config], Account)
  const bytes = Buffer.from(value?.data[0] ?? '', 'base64')
  if (value?.owner !== tokenProgram || bytes.length !== accountBytes) return null
  if (encodeBase58(bytes.subarray(0, ownerAt)) !== mint || bytes[stateAt] !== isUsable) return null
  return encodeBase58(bytes.subarray(ownerAt, 2 * ownerAt))
}

const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'

const programs: ReadonlySet<string> = new Set([
  memoProgram,
  '11111111111111111111111111111111',
  'ComputeBudget111111111111111111111111111111',
  tokenProgram,
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
])

/** A program has no key, so it cannot sign; and a transaction cannot invoke its own fee payer. */
export const isSolanaProgram = (address: string): boolean => programs.has(address)

/** The chain's state of a payment: it can still be taken, it was taken, or it never can be. */
export type ChainEnd = { kind: 'open' } | { kind: 'taken'; transaction: string | null } | { kind: 'never' }

const Genesis = z.string()
const Epoch = z.object({ absoluteSlot: z.int().nonnegative(), blockHeight: z.int().nonnegative() })
const Listed = z.array(
  z.object({ signature: z.string(), err: z.unknown(), memo: z.string().nullable(), blockTime: z.int().nullable() }),
)

type SolanaLife = Pick<Payment, 'network' | 'memo' | 'lastValidBlockHeight' | 'address' | 'createdAtMs'>

/**
 * A transaction is valid up to a block height, however long the chain takes to reach it: if no block contains it when a
 * later block is final, none ever will. Null for a payment on the other rail, which has no such height. Throws a refusal
 * if no node can be reached.
 */
export async function solanaEnd(nodes: ChainNodes, payment: SolanaLife): Promise<ChainEnd | null> {
  const { network, memo, lastValidBlockHeight } = payment
  if (memo === null || lastValidBlockHeight === null) return null
  const url = nodes.solana ?? noNode()
  if (!(await isOfSolana(url, network))) throw otherChain()
  const { blockHeight, absoluteSlot } = await askNode(url, 'getEpochInfo', [finalized], Epoch)
  const taken = await findTaken(url, payment, memo, absoluteSlot)
  if (taken !== null) return { kind: 'taken', transaction: taken }
  return { kind: blockHeight > lastValidBlockHeight ? 'never' : 'open' }
}

/**
 * Returns whether a node belongs to a CAIP-2 network: a `solana` chain is named by the first characters of its genesis
 * hash. Throws a refusal if the node does not answer.
 */
export async function isOfSolana(url: string, network: string, timeoutMs?: number): Promise<boolean> {
  const genesis = await askNode(url, 'getGenesisHash', [], Genesis, timeoutMs)
  return network === `solana:${genesis.slice(0, limits.genesisCharacters)}`
}

/** Returns the time of the last final block in Unix milliseconds. Throws a refusal if the node does not answer. */
export async function solanaTimeMs(url: string, timeoutMs: number): Promise<number> {
  const { absoluteSlot } = await askNode(url, 'getEpochInfo', [finalized], Epoch, timeoutMs)
  return (await askNode(url, 'getBlockTime', [absoluteSlot], z.int().nonnegative(), timeoutMs)) * 1_000
}

const finalized = { commitment: 'finalized' } as const

/**
 * Searches the payer's transactions back to the payment for its unique memo. The transaction is named by the signature
 * of the fee payer, which the wallet never received. A failed transaction has moved nothing. Another node behind the
 * same address may lag, so only a node that has reached `slot` may answer.
 */
async function findTaken(url: string, { address, createdAtMs }: SolanaLife, memo: string, slot: number) {
  const limit = limits.listedTransactions
  for (let [page, before] = [0, ''] as [number, string]; page < limits.transactionPages; page++) {
    const config = { ...finalized, minContextSlot: slot, limit, ...(before && { before }) }
    const listed = await askNode(url, 'getSignaturesForAddress', [address, config], Listed)
    const ours = listed.find(each => (each.err ?? null) === null && each.memo?.includes(memo))
    if (ours) return ours.signature
    const last = listed.at(-1)
    const isBefore = (last?.blockTime ?? Infinity) * 1_000 < createdAtMs - limits.chainClockMs
    if (last === undefined || listed.length < limit || isBefore) return null
    before = last.signature
  }
  throw refusal('The address has too many transactions to look for this one.', 'Look for it in a block explorer.')
}

const noNode = (): never => {
  throw refusal('Only the chain shows whether a payment on Solana has expired, and no node is set.', nameNode)
}

const otherChain = (): WalletRefusal => refusal('The configured node belongs to another chain.', nameNode)

const nameNode = 'Set FAREBOX_SOLANA_RPC_URL to a node of that chain, then try again.'

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'node', sentence, nextStep })
