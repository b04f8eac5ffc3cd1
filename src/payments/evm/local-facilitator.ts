import { x402Version } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { receiptTimeoutMs, settlementGas, settlementsInReserve, walletSettlementGas } from '../bounds.ts'
import { type Facilitator, type Settlement, SettlementPaused, type Verdict } from '../facilitators/rail.ts'
import { ChainUnavailable, type PaymentReason } from '../payment/payment.ts'
import { EvmSignatures, offerProblem } from './evm-checks.ts'
import type { EvmPayment } from './evm-rail.ts'
import { type ContractCall, EvmSender, type EvmSenderOptions, newAttempt, type SendAttempt } from './evm-sender.ts'

type Hex = `0x${string}`
type Scheme = InstanceType<typeof import('@x402/evm/exact/facilitator').ExactEvmScheme>
type Requirements = Parameters<Scheme['verify']>[1]
type Payload = Parameters<Scheme['verify']>[0]

export interface LocalFacilitatorOptions extends EvmSenderOptions {
  /** Accepts payments from contracts that check their own signatures (EIP-1271); false by default. */
  contractWallets?: boolean
}

/** Settles on an EVM chain with our own key. Sends nothing to the network until it is used. */
export async function openLocalFacilitator(options: LocalFacilitatorOptions): Promise<LocalFacilitator> {
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

/** Reasons that the stock facilitator derives from the chain or the payment itself, and that are therefore certain. */
const certainReasons: Readonly<Record<string, PaymentReason>> = {
  invalid_exact_evm_nonce_already_used: 'nonce_used',
  invalid_exact_evm_insufficient_balance: 'insufficient_funds',
  invalid_exact_evm_payload_authorization_valid_before: 'expired',
  invalid_exact_evm_payload_authorization_valid_after: 'not_yet_valid',
}

export class LocalFacilitator implements Facilitator<EvmPayment> {
  readonly #packages: Packages
  readonly #network: string
  readonly #sender: EvmSender
  readonly #signatures: EvmSignatures
  readonly #gasAtMost: bigint

  constructor(packages: Packages, options: LocalFacilitatorOptions) {
    const { network, rpcUrl, contractWallets = false } = options
    this.#packages = packages
    this.#network = network
    this.#gasAtMost = contractWallets ? walletSettlementGas : settlementGas
    this.#signatures = new EvmSignatures(packages.viem, packages.evm.authorizationTypes, { rpcUrl, contractWallets })
    this.#sender = new EvmSender(packages.viem, packages.accounts, options)
  }

  supported(): readonly string[] {
    return [this.#network]
  }

  async problem(option: PaymentOption): Promise<string | null> {
    try {
      return (await offerProblem(this.#sender.client, option)) ?? (await this.#gasProblem()) ?? this.#feeProblem()
    } catch {
      return 'The node cannot be reached, so payments cannot be checked; start it or set another RPC URL.'
    }
  }

  async #gasProblem(): Promise<string | null> {
    const { client, address } = this.#sender
    const balance = await client.getBalance({ address })
    if (balance === 0n) return `The key ${address} has no ETH, so no payment can be settled; send it some.`
    const { maxFeePerGas } = await client.estimateFeesPerGas()
    if (balance >= settlementsInReserve * settlementGas * maxFeePerGas) return null
    return `The key ${address} has ETH for fewer than ${settlementsInReserve} payments; send it some.`
  }

  #feeProblem(): string | null {
    return this.#sender.canPay ? null : this.#sender.feeProblem
  }

  async verify(payment: EvmPayment): Promise<Verdict> {
    const reason = await this.#signatures.problem(payment)
    if (reason) return { valid: false, reason }
    const verdict = await this.#judgeTwice(payment)
    if (verdict.valid && !this.#sender.canPay) {
      throw new SettlementPaused('The service has reached its hourly cap on network fees.')
    }
    return verdict
  }

  async #judgeTwice(payment: EvmPayment): Promise<Verdict> {
    const first = await this.#judge(payment)
    if (first.certain) return first.verdict
    // To the stock code a node that is down looks like a bad payment, so the node is probed and the payment verified
    // once more.
    await this.#probe()
    return (await this.#judge(payment)).verdict
  }

  async settle(payment: EvmPayment): Promise<Settlement> {
    const attempt = newAttempt()
    const result = await this.#settleOnce(payment, attempt)
    if (result.success) return { state: 'settled', transaction: result.transaction.toLowerCase() }
    const reason = result.errorReason ?? ''
    if (attempt.transaction) {
      const hasFailed = reason === 'invalid_exact_evm_transaction_failed' && result.transaction !== ''
      // The failed transaction may have come second, after the transfer that used the nonce.
      return hasFailed && !attempt.mayHaveLanded
        ? { state: 'refused', reason: 'simulation_failed' }
        : { state: 'sent', transaction: attempt.transaction }
    }
    if (attempt.unsent?.by === 'sender') return { state: 'unsent', why: attempt.unsent.words }
    const known = certainReasons[reason]
    if (known) return { state: 'refused', reason: known }
    if (attempt.unsent) return { state: 'refused', reason: 'simulation_failed' }
    return { state: 'unsent', why: `The payment was not sent: ${reason}.` }
  }

  async #settleOnce(payment: EvmPayment, attempt: SendAttempt) {
    try {
      const send = (call: ContractCall) => this.#sender.send(call, this.#gasAtMost, attempt)
      return await this.#facilitatorOf(send, attempt).settle(...stockTerms(payment))
    } catch {
      return { success: false, errorReason: 'node_unreachable', transaction: '' }
    }
  }

  async #judge(payment: EvmPayment): Promise<{ certain: boolean; verdict: Verdict }> {
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

  /** Created for each use, because what it sends belongs to one payment. */
  #facilitatorOf(writeContract: (call: ContractCall) => Promise<Hex>, attempt?: SendAttempt) {
    const { core, evm, exact } = this.#packages
    const { client, address } = this.#sender
    const signer = evm.toFacilitatorEvmSigner(
      {
        address,
        // This may run the code of a wallet, so its gas is limited to that of a settlement.
        readContract: call =>
          client.readContract({ ...call, gas: this.#gasAtMost } as unknown as Parameters<
            typeof client.readContract
          >[0]),
        verifyTypedData: call => client.verifyTypedData(call as Parameters<typeof client.verifyTypedData>[0]),
        async waitForTransactionReceipt(call) {
          const receipt = await client.waitForTransactionReceipt(call)
          attempt?.fee?.correct(receipt.gasUsed * receipt.effectiveGasPrice)
          return receipt
        },
        getCode: call => client.getCode(call),
        writeContract,
        sendTransaction: refuseToSend,
      },
      { confirmationTimeoutMs: receiptTimeoutMs },
    )
    return new core.x402Facilitator().register(this.#network as `${string}:${string}`, new exact.ExactEvmScheme(signer))
  }
}

/** Verifying sends nothing, and settling only the transfer: no wallet is deployed at our expense. */
const refuseToSend = (): Promise<never> => Promise.reject(new Error('Nothing else is sent for a payment.'))

/** Returns what the stock facilitator sees: only our option, and a payload of exactly two members. */
function stockTerms({ option, authorization, signature }: EvmPayment): [Payload, Requirements] {
  const requirements = { ...option, extra: { ...option.extra } } as Requirements
  return [{ x402Version, accepted: requirements, payload: { signature, authorization } }, requirements]
}
