import type { PublicClient } from 'viem'
import { rpcRetries, rpcTimeoutMs, walletSettlementGas } from '../bounds.ts'
import { ChainUnavailable } from '../payment/chain-unavailable.ts'
import type { PaymentReason } from '../payment/payment-reasons.ts'
import type { EvmPayment } from '../payment/signed-payment.ts'
import { chainIdOf } from './evm-chain-id.ts'

type Hex = `0x${string}`
type Viem = typeof import('viem')
type Types = typeof import('@x402/evm').authorizationTypes

export interface EvmSignaturesOptions {
  rpcUrl: string
  /** Whether a payer may be a contract that checks its signatures itself (EIP-1271). */
  contractWallets: boolean
}

/** `isValidSignature(bytes32,bytes)`: its selector is also the answer that means yes. */
const magic = '0x1626ba7e'
const yes = magic.padEnd(66, '0')

/**
 * Whether the payer signed, decided as the token will decide it: an address with code is asked itself, any other one is
 * recovered from the signature. Asks nothing of the network until a signature is sound, or may be a contract's.
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
    if (signature.length !== 132) return false
    try {
      const signer = await this.#viem.recoverAddress({ hash, signature: signature as Hex })
      return signer.toLowerCase() === authorization.from
    } catch {
      // Not a point of the curve: nobody's signature.
      return false
    }
  }

  async #hasCode({ authorization }: EvmPayment): Promise<boolean> {
    try {
      const code = await this.#client.getCode({ address: authorization.from as Hex })
      return code !== undefined && code !== '0x'
    } catch (cause) {
      throw new ChainUnavailable('The node did not tell whether the payer is a contract.', { cause })
    }
  }

  /** A stranger's code runs in this call, so it has no more gas than its part of a settlement. */
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
