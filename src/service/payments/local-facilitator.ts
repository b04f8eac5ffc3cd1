import type { PaymentOption } from '#contract/payment.ts'
import { x402Version } from '#contract/payment.ts'
import { receiptTimeoutMs } from './bounds.ts'
import { ChainUnavailable } from './chain-unavailable.ts'
import { chainIdOf } from './check-payment.ts'
import { type ContractCall, EvmSender, type EvmSenderOptions, type SendAttempt } from './evm-sender.ts'
import type { Facilitator, Settlement, Verdict } from './facilitator.ts'
import type { PaymentReason } from './payment-reasons.ts'
import type { SignedPayment } from './signed-payment.ts'

type Hex = `0x${string}`
type Scheme = InstanceType<typeof import('@x402/evm/exact/facilitator').ExactEvmScheme>
type Requirements = Parameters<Scheme['verify']>[1]
type Payload = Parameters<Scheme['verify']>[0]

/** Settles on an EVM chain with a key of our own. Asks nothing of the network until it is used. */
export async function openLocalFacilitator(options: EvmSenderOptions): Promise<LocalFacilitator> {
  const [viem, accounts, core, evm, exact] = await Promise.all([
    import('viem'),
    import('viem/accounts'),
    import('@x402/core/facilitator'),
    import('@x402/evm'),
    import('@x402/evm/exact/facilitator'),
  ])
  return new LocalFacilitator({ viem, accounts, core, evm, exact }, options)
}

interface Packages {
  viem: typeof import('viem')
  accounts: typeof import('viem/accounts')
  core: typeof import('@x402/core/facilitator')
  evm: typeof import('@x402/evm')
  exact: typeof import('@x402/evm/exact/facilitator')
}

/** Reasons that the stock facilitator has read from the chain or the payment itself, and so are certain. */
const certainReasons: Readonly<Record<string, PaymentReason>> = {
  invalid_exact_evm_nonce_already_used: 'nonce_used',
  invalid_exact_evm_insufficient_balance: 'insufficient_funds',
  invalid_exact_evm_payload_authorization_valid_before: 'expired',
  invalid_exact_evm_payload_authorization_valid_after: 'not_yet_valid',
}

export class LocalFacilitator implements Facilitator {
  readonly #packages: Packages
  readonly #network: string
  readonly #sender: EvmSender

  constructor(packages: Packages, options: EvmSenderOptions) {
    this.#packages = packages
    this.#network = options.network
    this.#sender = new EvmSender(packages.viem, packages.accounts, options)
  }

  supported(): readonly string[] {
    return [this.#network]
  }

  /** What keeps it from settling into this option, as a sentence for the operator; null where all is well. */
  async problem(option: PaymentOption): Promise<string | null> {
    const { client, address } = this.#sender
    try {
      const chainId = await client.getChainId()
      if (chainId !== chainIdOf(this.#network)) {
        return `The node serves chain ${chainId}, not ${chainIdOf(this.#network)}; set the RPC URL of the right chain.`
      }
      if (!/^0x[0-9a-f]{40}$/i.test(option.payTo) || /^0x0{40}$/.test(option.payTo)) {
        return `${option.payTo} cannot receive payments; set payTo to an address whose key you hold.`
      }
      const code = await client.getCode({ address: option.asset as Hex })
      if (!code || code === '0x')
        return `There is no token at ${option.asset} on chain ${chainId}; set the asset's address.`
      const gas = await client.getBalance({ address })
      return gas > 0n ? null : `The key ${address} has no ETH, so no payment can be settled; send it some.`
    } catch {
      return 'The node cannot be reached, so payments cannot be checked; start it or set another RPC URL.'
    }
  }

  async verify(payment: SignedPayment): Promise<Verdict> {
    if (!(await this.#isSigned(payment))) return { valid: false, reason: 'invalid_signature' }
    const first = await this.#judge(payment)
    if (first.certain) return first.verdict
    // A node that is down looks like a bad payment to the stock code, so it is asked and the verdict taken once more.
    await this.#probe()
    return (await this.#judge(payment)).verdict
  }

  async settle(payment: SignedPayment): Promise<Settlement> {
    const attempt: SendAttempt = { transaction: null, unsent: null }
    const result = await this.#settleOnce(payment, attempt)
    if (result.success) return { state: 'settled', transaction: result.transaction.toLowerCase() }
    const reason = result.errorReason ?? ''
    if (attempt.transaction) {
      return reason === 'invalid_exact_evm_transaction_failed' && result.transaction !== ''
        ? { state: 'refused', reason: 'simulation_failed' }
        : { state: 'sent', transaction: attempt.transaction }
    }
    if (attempt.unsent?.by === 'sender') return { state: 'unsent', why: attempt.unsent.words }
    const known = certainReasons[reason]
    if (known) return { state: 'refused', reason: known }
    if (attempt.unsent) return { state: 'refused', reason: 'simulation_failed' }
    return { state: 'unsent', why: `The payment was not sent: ${reason}.` }
  }

  async #settleOnce(payment: SignedPayment, attempt: SendAttempt) {
    try {
      return await this.#facilitatorOf(call => this.#sender.send(call, attempt)).settle(...stockTerms(payment))
    } catch {
      return { success: false, errorReason: 'node_unreachable', transaction: '' }
    }
  }

  /** Without the network, so that a bad signature costs the node nothing. */
  async #isSigned({ option, authorization, signature }: SignedPayment): Promise<boolean> {
    const { recoverTypedDataAddress } = this.#packages.viem
    try {
      const signer = await recoverTypedDataAddress({
        domain: {
          name: String(option.extra?.name),
          version: String(option.extra?.version),
          chainId: chainIdOf(option.network),
          verifyingContract: option.asset as Hex,
        },
        types: this.#packages.evm.authorizationTypes,
        primaryType: 'TransferWithAuthorization',
        message: {
          from: authorization.from as Hex,
          to: authorization.to as Hex,
          value: BigInt(authorization.value),
          validAfter: BigInt(authorization.validAfter),
          validBefore: BigInt(authorization.validBefore),
          nonce: authorization.nonce as Hex,
        },
        signature: signature as Hex,
      })
      return signer.toLowerCase() === authorization.from
    } catch {
      // Not a point of the curve: nobody's signature.
      return false
    }
  }

  async #judge(payment: SignedPayment): Promise<{ certain: boolean; verdict: Verdict }> {
    try {
      const answer = await this.#facilitatorOf(refuseToSend).verify(...stockTerms(payment))
      if (answer.isValid) return { certain: true, verdict: { valid: true } }
      const known = certainReasons[answer.invalidReason ?? '']
      return { certain: known !== undefined, verdict: { valid: false, reason: known ?? 'simulation_failed' } }
    } catch (cause) {
      throw new ChainUnavailable('The payment could not be checked against the chain.', { cause })
    }
  }

  async #probe(): Promise<void> {
    try {
      await this.#sender.client.getBlock({ blockTag: 'latest' })
    } catch (cause) {
      throw new ChainUnavailable('The node does not answer.', { cause })
    }
  }

  /** One for each use, because what it sends belongs to one payment. */
  #facilitatorOf(writeContract: (call: ContractCall) => Promise<Hex>) {
    const { core, evm, exact } = this.#packages
    const { client, address } = this.#sender
    const signer = evm.toFacilitatorEvmSigner(
      {
        address,
        readContract: call => client.readContract(call as Parameters<typeof client.readContract>[0]),
        verifyTypedData: call => client.verifyTypedData(call as Parameters<typeof client.verifyTypedData>[0]),
        waitForTransactionReceipt: call => client.waitForTransactionReceipt(call),
        getCode: call => client.getCode(call),
        writeContract,
        sendTransaction: refuseToSend,
      },
      { confirmationTimeoutMs: receiptTimeoutMs },
    )
    return new core.x402Facilitator().register(this.#network as `${string}:${string}`, new exact.ExactEvmScheme(signer))
  }
}

/** Checking sends nothing, and settling nothing but the transfer: no wallet is deployed at our expense. */
const refuseToSend = (): Promise<never> => Promise.reject(new Error('Nothing else is sent for a payment.'))

/** What the stock facilitator is told: our option alone, and a payload of exactly two members. */
function stockTerms({ option, authorization, signature }: SignedPayment): [Payload, Requirements] {
  const requirements = { ...option, extra: { ...option.extra } } as Requirements
  return [{ x402Version, accepted: requirements, payload: { signature, authorization } }, requirements]
}
