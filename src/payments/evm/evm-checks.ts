import type { PublicClient } from 'viem'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { evmSigners } from '#host/signatures/evm-signature.ts'
import { rpcRetries, rpcTimeoutMs, walletSettlementGas } from '../bounds.ts'
import { ChainUnavailable, type PaymentReason } from '../payment/payment.ts'
import { chainIdOf, type EvmPayment } from './evm-rail.ts'

type Hex = `0x${string}`
type Viem = typeof import('viem')
type Types = typeof import('@x402/evm').authorizationTypes

interface EvmSignaturesOptions {
  rpcUrl: string
  /** Whether a payer may be a contract that checks its own signatures (EIP-1271). */
  contractWallets: boolean
}

/** `isValidSignature(bytes32,bytes)`: its selector is also the return value for a valid signature. */
const magic = '0x1626ba7e'
const yes = magic.padEnd(66, '0')

/**
 * Verifies the payer's signature as the token will: an address with code is asked itself, and for any other address the
 * signer is recovered. Sends nothing to the network unless a signature is valid or may be a contract's.
 */
export class EvmSignatures {
  readonly #viem: Viem
  readonly #types: Types
  readonly #client: PublicClient
  readonly #contractWallets: boolean

  constructor(viem: Viem, types: Types, { rpcUrl, contractWallets }: EvmSignaturesOptions) {
    this.#viem = viem
    this.#types = types
    this.#client = viem.createPublicClient({
      transport: viem.http(rpcUrl, { timeout: rpcTimeoutMs, retryCount: rpcRetries }),
    })
    this.#contractWallets = contractWallets
  }

  /** Returns what is wrong with the signature; null if it is valid. Rejects with `ChainUnavailable`. */
  async problem(payment: EvmPayment): Promise<PaymentReason | null> {
    const digest = this.#digest(payment)
    const byKey = await this.#isOfKey(payment, digest)
    if (!byKey && !this.#contractWallets) return 'invalid_signature'
    if (!(await this.#hasCode(payment))) return byKey ? null : 'invalid_signature'
    if (!this.#contractWallets) return 'contract_wallet'
    return (await this.#isOfContract(payment, digest)) ? null : 'invalid_signature'
  }

  #digest({ option, authorization }: EvmPayment): Hex {
    return this.#viem.hashTypedData({
      domain: {
        name: String(option.extra?.name),
        version: String(option.extra?.version),
        chainId: chainIdOf(option.network),
        verifyingContract: option.asset as Hex,
      },
      types: this.#types,
      primaryType: 'TransferWithAuthorization',
      message: {
        from: authorization.from as Hex,
        to: authorization.to as Hex,
        value: BigInt(authorization.value),
        validAfter: BigInt(authorization.validAfter),
        validBefore: BigInt(authorization.validBefore),
        nonce: authorization.nonce as Hex,
      },
    })
  }

  async #isOfKey({ authorization, signature }: EvmPayment, hash: Hex): Promise<boolean> {
    const signers = await evmSigners()
    return signers.ofDigest(this.#viem.hexToBytes(hash), signature) === authorization.from
  }

  async #hasCode({ authorization }: EvmPayment): Promise<boolean> {
    try {
      const code = await this.#client.getCode({ address: authorization.from as Hex })
      return code !== undefined && code !== '0x'
    } catch (cause) {
      throw new ChainUnavailable('The node did not report whether the payer is a contract.', { cause })
    }
  }

  /** This call runs untrusted code, so its gas is limited to its share of a settlement. */
  async #isOfContract({ authorization, signature }: EvmPayment, digest: Hex): Promise<boolean> {
    const { encodeAbiParameters, concatHex } = this.#viem
    const asked = encodeAbiParameters([{ type: 'bytes32' }, { type: 'bytes' }], [digest, signature as Hex])
    try {
      const to = authorization.from as Hex
      const { data } = await this.#client.call({ to, data: concatHex([magic, asked]), gas: walletSettlementGas })
      return data?.slice(0, 66) === yes
    } catch (cause) {
      if (isOfTheCode(this.#viem, cause)) return false
      throw new ChainUnavailable('The node did not report the answer of the payer’s contract.', { cause })
    }
  }
}

/** Whether the contract's code failed, rather than the node. Nodes have no common error number for this. */
function isOfTheCode({ BaseError, ExecutionRevertedError }: Viem, error: unknown): boolean {
  if (!(error instanceof BaseError)) return false
  if (error.walk(cause => cause instanceof ExecutionRevertedError)) return true
  return /out of ?gas|outofgas|gas (limit|uint64)|invalid opcode|invalid jump|stack (over|under)flow/i.test(
    error.details,
  )
}

const text = (name: string) =>
  ({ type: 'function', name, stateMutability: 'view', inputs: [], outputs: [{ name: '', type: 'string' }] }) as const

const isBlacklisted = {
  type: 'function',
  name: 'isBlacklisted',
  stateMutability: 'view',
  inputs: [{ name: '_account', type: 'address' }],
  outputs: [{ name: '', type: 'bool' }],
} as const

/**
 * Returns what is wrong with an option offered on an EVM chain, as a sentence for the operator. Rejects if the node
 * does.
 */
export async function offerProblem(
  client: Pick<PublicClient, 'getChainId' | 'getCode' | 'readContract'>,
  { network, asset, payTo, extra }: PaymentOption,
): Promise<string | null> {
  const chainId = await client.getChainId()
  if (chainId !== chainIdOf(network)) {
    return `The node serves chain ${chainId}, not ${chainIdOf(network)}; set the RPC URL of the right chain.`
  }
  if (!/^0x[0-9a-f]{40}$/i.test(payTo) || /^0x0{40}$/.test(payTo)) {
    return `${payTo} cannot receive payments; set payTo to an address whose key you hold.`
  }
  const code = await client.getCode({ address: asset as Hex })
  if (!code || code === '0x') return `There is no token at ${asset} on chain ${chainId}; set the asset's address.`
  for (const member of ['name', 'version'] as const) {
    const says = await client.readContract({ address: asset as Hex, abi: [text(member)], functionName: member })
    if (says !== extra?.[member]) {
      return `The token at ${asset} has the ${member} ${JSON.stringify(says)}; set \`payments.evm.token.${member}\` to it, or no signature is valid.`
    }
  }
  // Only USDC and tokens like it have such a list.
  const isBlocked = await client
    .readContract({ address: asset as Hex, abi: [isBlacklisted], functionName: 'isBlacklisted', args: [payTo as Hex] })
    .catch(() => false)
  return isBlocked
    ? `The issuer of the token at ${asset} has blocked ${payTo}, so it cannot be paid; set payTo to another address.`
    : null
}
