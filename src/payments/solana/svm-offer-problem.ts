import { z } from 'zod'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { usdcDecimals } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import {
  lamportsPerSignature,
  mostComputeUnits,
  mostMicroLamportsPerUnit,
  rentLamports,
  settlementsInReserve,
} from '../bounds.ts'
import { addressOf, tokenAccountOf, tokenProgram } from './solana-key.ts'
import type { SolanaRpc } from './solana-rpc.ts'

const Account = z.object({ owner: z.string(), data: z.tuple([z.string(), z.literal('base64')]) })
const Accounts = z.object({ value: z.array(Account.nullable()).length(2) })
const Balance = z.object({ value: z.number() })

/** What the dearest payment that is taken costs whoever pays its fee, in lamports. */
const dearestFee = 2n * lamportsPerSignature + (BigInt(mostComputeUnits) * mostMicroLamportsPerUnit) / 1_000_000n

const mintBytes = 82

/** What is wrong with an option that is offered on Solana, as a sentence for the operator. Rejects where the node does. */
export async function svmOfferProblem(rpc: SolanaRpc, option: PaymentOption, feePayer: string): Promise<string | null> {
  return (await svmAccountProblem(rpc, option)) ?? (await balanceProblem(rpc, feePayer))
}

/** The same where somebody else pays the fees. */
export async function svmAccountProblem(
  rpc: SolanaRpc,
  { network, asset, payTo }: PaymentOption,
): Promise<string | null> {
  const genesis = await rpc.ask('getGenesisHash', [], z.string())
  // A CAIP-2 name has the first 32 characters of it.
  if (!genesis.startsWith(network.slice('solana:'.length))) {
    return `The node serves the chain of ${genesis}, not ${network}; set the RPC URL of the right chain.`
  }
  if (!addressOf(payTo))
    return `${payTo} cannot receive payments; set payTo to an address of Solana whose key you hold.`
  return accountProblem(rpc, asset, payTo)
}

async function accountProblem(rpc: SolanaRpc, asset: string, payTo: string): Promise<string | null> {
  const account = tokenAccountOf(payTo, asset)
  const config = { encoding: 'base64', commitment: 'confirmed' }
  const { value } = await rpc.ask('getMultipleAccounts', [[asset, account], config], Accounts)
  const [mint, payee] = value.map(each => each && { owner: each.owner, bytes: Buffer.from(each.data[0], 'base64') })
  if (mint?.owner !== tokenProgram || mint.bytes.length !== mintBytes || mint.bytes[44] !== usdcDecimals) {
    return `There is no token of ${usdcDecimals} decimals at ${asset}; set the asset's address.`
  }
  if (payee?.owner !== tokenProgram) {
    return `${payTo} has no account for ${asset} yet, so nothing can be paid to it; open ${account} by sending it any amount of the token.`
  }
  // An account may be given away, and its address stays the same.
  return encodeBase58(payee.bytes.subarray(32, 64)) === payTo
    ? null
    : `The account ${account} does not belong to ${payTo} any more; set payTo to another address.`
}

async function balanceProblem(rpc: SolanaRpc, feePayer: string): Promise<string | null> {
  const { value } = await rpc.ask('getBalance', [feePayer, { commitment: 'confirmed' }], Balance)
  if (value === 0) return `The account ${feePayer} has no SOL, so no payment can be settled; send it some.`
  const spare = BigInt(value) - rentLamports
  if (spare >= settlementsInReserve * dearestFee) return null
  return `The account ${feePayer} has SOL for fewer than ${settlementsInReserve} payments; send it some.`
}
