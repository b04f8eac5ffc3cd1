import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { MicroUsd } from '#contract/money.ts'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { paymentSignature } from '#contract/wire/headers.ts'
import { x402Version } from '#contract/wire/networks.ts'
import type { SolanaKey } from '../keys/solana-key.ts'
import { blockhashLifeMs } from '../limits.ts'
import type { ChosenOption } from '../terms/chosen-option.ts'
import type { SignedPayment } from '../terms/signed-payment.ts'
import { askNode } from './ask-node.ts'
import { type Blockhash, composeTransfer } from './solana-transfer.ts'

/** A text of fitting length may still be of 33 bytes, which no message can hold. */
const hashBytes = 32

const LatestBlockhash = z.object({
  value: z.object({
    blockhash: z.string().refine(text => decodeBase58(text, hashBytes) !== null),
    lastValidBlockHeight: z.int().nonnegative(),
  }),
})

/** How long a transfer that is signed now can be settled: a payment without it would live for ever, or not at all. */
export async function latestBlockhash(nodeUrl: string): Promise<Blockhash> {
  // One that cannot be undone is known to every node that the service may ask.
  const { value } = await askNode(nodeUrl, 'getLatestBlockhash', [{ commitment: 'finalized' }], LatestBlockhash)
  return { blockhash: value.blockhash, lastValidBlockHeight: BigInt(value.lastValidBlockHeight) }
}

/**
 * Signs one transfer to the chosen payee (x402 version 2, scheme `exact` on Solana). The amount is the policy's, the mint
 * and its decimals are ours; whoever the offer names pays the fee and signs after us.
 */
export async function signSvmPayment(
  key: SolanaKey,
  { option, payee }: ChosenOption,
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
    // The transaction's own name is the fee payer's signature, which is not there yet.
    nonce: createHash('sha256').update(bytes).digest('hex'),
    validBeforeMs: nowMs + blockhashLifeMs,
    chainLife: { lastValidBlockHeight: Number(lifetime.lastValidBlockHeight), memo },
  }
}
