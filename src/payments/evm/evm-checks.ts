import type { PublicClient } from 'viem'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { evmSigners } from '#host/evm-signature.ts'
import { rpcRetries, rpcTimeoutMs, walletSettlementGas } from '../bounds.ts'
import { ChainUnavailable, type PaymentReason } from '../payment/payment.ts'
import { chainIdOf, type EvmPayment } from './evm-rail.ts'

type Hex = `0x${string}`
type Viem = typeof import('viem')
type Types = typeof import('@x402/evm').authorizationTypes

interface EvmSignaturesOptions {
  rpcUrl: string
  /** Whether a payer may be a contract that checks its signatures itself (EIP-1271). */
  contractWallets: boolean
}

/** `isValidSignature(bytes32,bytes)`: its selector is also the answer that means yes. */
const magic = '0x1626ba7e'
const yes = magic.padEnd(66, '0')

/**
 * Whether the payer signed, decided as the token will decide it: an address with code is asked itself, any other one is
 * recovered from the signature. Asks nothing of the network until a signature is valid, or may be a contract's.
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

  /** What is wrong with the signature; null where it is right. Rejects with `ChainUnavailable`. */
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
      throw new ChainUnavailable('The node did not tell whether the payer is a contract.', { cause })
    }
  }

  /** Untrusted code runs in this call, so it has no more gas than its part of a settlement. */
  async #isOfContract({ authorization, signature }: EvmPayment, digest: Hex): Promise<boolean> {
    const { encodeAbiParameters, concatHex } = this.#viem
    const asked = encodeAbiParameters([{ type: 'bytes32' }, { type: 'bytes' }], [digest, signature as Hex])
    try {
      const to = authorization.from as Hex
      const { data } = await this.#client.call({ to, data: concatHex([magic, asked]), gas: walletSettlementGas })
      return data?.slice(0, 66) === yes
    } catch (cause) {
      if (isOfTheCode(this.#viem, cause)) return false
      throw new ChainUnavailable('The node did not tell what the payer’s contract says.', { cause })
    }
  }
}

/** Whether the code failed, and not the node. Nodes have no common number for it. */
function isOfTheCode({ BaseError, ExecutionRevertedError }: Viem, error: unknown): boolean {
  if (!(error instanceof BaseError)) return false
  if (error.walk(cause => cause instanceof ExecutionRevertedError)) return true
  return /out of ?gas|outofgas|gas (limit|uint64)|invalid opcode|invalid jump|stack (over|under)flow/i.test(
    error.details,
  )
}

const text = (name: string) =>
  ({ type: 'function', name, stateMutability: 'view', inputs: [], outputs: [{ name: '', type: 'string' }] }) as const

/** What is wrong with an option that is offered on an EVM chain, as a sentence for the operator. Rejects where the node does. */
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
      return `The token at ${asset} has the ${member} ${JSON.stringify(says)}; set extra.${member} of the option to it, or no signature is valid.`
    }
  }
  return null
}
