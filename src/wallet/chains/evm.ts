import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { MicroUsd } from '#contract/money.ts'
import { paymentSignature } from '#contract/wire/headers.ts'
import { x402Version } from '#contract/wire/networks.ts'
import type { EvmAuthorization } from '#contract/wire/payment.ts'
import type { WalletKey } from '../keys/keys.ts'
import { deadMarginMs } from '../limits.ts'
import type { Payment } from '../records/journal.ts'
import type { ChosenOffer, SignedPayment } from '../terms/order.ts'
import { askNode, type ChainNodes } from './nodes.ts'
import type { ChainEnd } from './solana.ts'

const nonceBytes = 32

/** EIP-3009, as in the token's contract. */
const transferTypes = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/**
 * Signs one transfer to the chosen payee (x402 version 2, scheme `exact`). The policy decides the amount, not the
 * offer.
 */
export async function signExactPayment(
  key: WalletKey,
  chosen: ChosenOffer,
  amountMicroUsd: MicroUsd,
  nowMs: number,
): Promise<SignedPayment> {
  if (key.namespace !== 'eip155') throw new TypeError('This key does not sign for EVM chains.')
  const { option, payee } = chosen
  const validBeforeSeconds = Math.floor(nowMs / 1_000) + option.maxTimeoutSeconds
  const authorization: EvmAuthorization = {
    from: key.address,
    to: payee.payTo,
    value: amountMicroUsd.toString(),
    // A chain's clock may be seconds behind ours; zero is accepted by every chain.
    validAfter: '0',
    validBefore: validBeforeSeconds.toString(),
    nonce: `0x${randomBytes(nonceBytes).toString('hex')}`,
  }
  const signature = await key.signTypedData({
    domain: {
      name: chosen.tokenName,
      version: chosen.tokenVersion,
      chainId: chainIdOf(payee.network),
      verifyingContract: lowerCase(payee.asset),
    },
    types: transferTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: authorization.from,
      to: lowerCase(payee.payTo),
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
      nonce: authorization.nonce,
    },
  })
  const { scheme, network, asset, payTo, maxTimeoutSeconds, extra } = option
  const accepted = { scheme, network, amount: authorization.value, asset, payTo, maxTimeoutSeconds, extra }
  return {
    payload: paymentSignature.format({ x402Version, accepted, payload: { signature, authorization } }),
    nonce: authorization.nonce,
    validBeforeMs: validBeforeSeconds * 1_000,
  }
}

/** Checksums are for people; the hash is over the bytes. */
const lowerCase = (address: string): `0x${string}` => address.toLowerCase() as `0x${string}`

function chainIdOf(network: string): number {
  const id = /^eip155:(\d{1,12})$/.exec(network)?.[1]
  if (id === undefined) throw new TypeError('A rail of this wallet is not an EVM chain.')
  return Number(id)
}

/** `authorizationState(address,bytes32)` of EIP-3009, `name()` and `version()`. */
const authorizationState = '0xe94a0102'
const nameOf = '0x06fdde03'
const versionOf = '0x54fd4d50'

const Quantity = z.string().regex(/^0x[0-9a-fA-F]{1,13}$/)
const Block = z.object({ number: Quantity, timestamp: Quantity })
const Word = z.string().regex(/^0x[0-9a-fA-F]{64}$/)
/** ABI encoding of a text: its offset, its length, its bytes padded to whole words. */
const Text = z.string().regex(/^0x0{62}20[0-9a-fA-F]{64,}$/)

/**
 * Returns the chain's state of an EIP-3009 authorization. Blocks accept it before its last second, and its nonce works
 * once, so if it is still unused in a block well after that second, it can never be used. Null if the state cannot be
 * determined: no node, no answer, another chain, or a token whose name is not the one that was signed for, as on a
 * local copy of a chain.
 */
export async function evmEnd(
  { eip155: url }: ChainNodes,
  payment: Pick<Payment, 'network' | 'asset' | 'address' | 'nonce' | 'validBeforeMs'>,
  tokenName: string | null,
  { looksEarly = false } = {},
): Promise<ChainEnd | null> {
  const { network, asset, address, nonce, validBeforeMs } = payment
  if (!url || nonce === null || validBeforeMs === null || tokenName === null) return null
  try {
    if (!(await isOfChain(url, network))) return null
    const { number, timestamp } = await askNode(url, 'eth_getBlockByNumber', ['latest', false], Block)
    const isOpen = Number(timestamp) * 1_000 <= validBeforeMs + deadMarginMs
    if (isOpen && !looksEarly) return { kind: 'open' }
    // Asks for this exact block, because another node behind the same address may lag.
    const ask = <Answer>(data: string, answer: z.ZodType<Answer>) =>
      askNode(url, 'eth_call', [{ to: asset, data }, number], answer)
    if (textOf(await ask(nameOf, Text)) !== tokenName) return null
    const isUsed = await ask(`${authorizationState}${word(address)}${word(nonce)}`, Word)
    if (BigInt(isUsed) !== 0n) return { kind: 'taken', transaction: null }
    return { kind: isOpen ? 'open' : 'never' }
  } catch {
    return null
  }
}

/** Returns the name and version that a token's EIP-712 signatures name. Throws a refusal if there is no answer. */
export async function tokenDomain(url: string, token: string): Promise<{ name: string; version: string }> {
  const ask = (data: string) => askNode(url, 'eth_call', [{ to: token, data }, 'latest'], Text)
  const [name, version] = await Promise.all([ask(nameOf), ask(versionOf)])
  return { name: textOf(name), version: textOf(version) }
}

/** Returns whether an address holds a contract's code. Throws a refusal if the node does not answer. */
export const isContract = async (url: string, address: string): Promise<boolean> =>
  (await askNode(url, 'eth_getCode', [address, 'latest'], z.string().regex(/^0x[0-9a-fA-F]*$/))) !== '0x'

/** Whether a node serves the network's chain (CAIP-2). Throws a refusal if it does not answer. */
export const isOfChain = async (url: string, network: string, timeoutMs?: number): Promise<boolean> =>
  network === `eip155:${Number(await askNode(url, 'eth_chainId', [], Quantity, timeoutMs))}`

/** Returns the time of the last block in Unix milliseconds. Throws a refusal if the node does not answer. */
export const evmTimeMs = async (url: string, timeoutMs: number): Promise<number> =>
  Number((await askNode(url, 'eth_getBlockByNumber', ['latest', false], Block, timeoutMs)).timestamp) * 1_000

const word = (hex: string): string => hex.slice(2).toLowerCase().padStart(64, '0')

function textOf(answer: string): string {
  const bytes = Buffer.from(answer.slice(2), 'hex')
  const length = Number(bytes.readBigUInt64BE(32 + 24))
  return bytes.subarray(64, 64 + length).toString()
}
