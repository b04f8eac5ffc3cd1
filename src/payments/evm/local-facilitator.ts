import { x402Version } from '#contract/wire/networks.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { receiptTimeoutMs, settlementGas, settlementsInReserve, walletSettlementGas } from '../bounds.ts'
import { type Facilitator, type Settlement, SettlementPaused, type Verdict } from '../facilitators/rail.ts'
import { ChainUnavailable, failureWords, type PaymentReason } from '../payment/payment.ts'
import { EvmSignatures, offerProblem } from './evm-checks.ts'
import type { EvmPayment } from './evm-rail.ts'
import { type ContractCall, EvmSender, type EvmSenderOptions, newAttempt } from './evm-sender.ts'

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
  /** Assets that are known to be contracts: a call to any other address succeeds and does nothing. */
  readonly #tokens = new Set<string>()

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
    if (balance >= settlementsInReserve * (settlementGas * maxFeePerGas + this.#sender.dataFee)) return null
    return `The key ${address} has ETH for fewer than ${settlementsInReserve} payments; send it some.`
  }

  #feeProblem(): string | null {
    return this.#sender.canPay ? null : this.#sender.feeProblem
  }

  async verify(payment: EvmPayment): Promise<Verdict> {
    const reason = await this.#signatures.problem(payment)
    if (reason) return { valid: false, reason }
    const verdict: Verdict = (await this.#passes(payment)) ? { valid: true } : await this.#judgeTwice(payment)
    if (verdict.valid && !this.#sender.canPay) {
      throw new SettlementPaused('The service has reached its hourly cap on network fees.')
    }
    return verdict
  }

  /** Whether the token would make the transfer now. If not, the stock code, which is slow, only finds the reason. */
  async #passes(payment: EvmPayment): Promise<boolean> {
    if (!isToPayee(payment)) return false
    try {
      const [isToken] = await Promise.all([
        this.#isToken(payment.option.asset),
        this.#readContract(this.#transferOf(payment)),
      ])
      return isToken
    } catch {
      return false
    }
  }

  async #isToken(asset: string): Promise<boolean> {
    if (this.#tokens.has(asset)) return true
    const code = await this.#sender.client.getCode({ address: asset as Hex })
    if (!code || code === '0x') return false
    this.#tokens.add(asset)
    return true
  }

  async #judgeTwice(payment: EvmPayment): Promise<Verdict> {
    const first = await this.#judge(payment)
    if (first.certain) return first.verdict
    // To the stock code, a node that is down looks like a bad payment, so the node is probed and the payment verified
    // again.
    await this.#probe()
    return (await this.#judge(payment)).verdict
  }

  /** The node checks the transfer when it estimates the gas, so the stock code need not check it again. */
  async settle(payment: EvmPayment, earlier: string | null = null): Promise<Settlement> {
    if (!isToPayee(payment)) return { state: 'unsent', why: 'The payment is to another payee.' }
    const attempt = newAttempt()
    const until = performance.now() + receiptTimeoutMs
    const call = this.#transferOf(payment)
    try {
      for (let waiting = earlier as Hex | null; ; waiting = null) {
        const transaction = await this.#sender.send(call, this.#gasAtMost, attempt, waiting)
        const outcome = await this.#sender.outcomeOf(attempt, until)
        if (outcome === 'succeeded') return { state: 'settled', transaction }
        // A transaction that was replaced is sent again: at worst both land, and the token takes only one of them.
        if (outcome === 'replaced') continue
        // The failed transaction may have come second, after the transfer that used the nonce.
        return attempt.mayHaveLanded
          ? { state: 'sent', transaction }
          : { state: 'refused', reason: 'simulation_failed' }
      }
    } catch (error) {
      if (attempt.transaction) return { state: 'sent', transaction: attempt.transaction }
      if (attempt.unsent?.by === 'token') return { state: 'refused', reason: await this.#reasonOf(payment, error) }
      return { state: 'unsent', why: attempt.unsent?.words ?? `The payment was not sent: ${failureWords(error)}` }
    }
  }

  /**
   * Why the token refuses the transfer, as far as it can be found out; on a chain without Multicall3, by the token's
   * own error.
   */
  async #reasonOf(payment: EvmPayment, refusal: unknown): Promise<PaymentReason> {
    if (refusal instanceof Error && /authorization.*used/i.test(refusal.message)) return 'nonce_used'
    const judged = await this.#judge(payment).catch(() => null)
    return judged && !judged.verdict.valid ? judged.verdict.reason : 'simulation_failed'
  }

  #transferOf({ option, authorization, signature }: EvmPayment): ContractCall {
    const { from, to, value, validAfter, validBefore, nonce } = authorization
    const signed = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce]
    return {
      address: option.asset as Hex,
      abi: this.#packages.evm.eip3009ABI,
      functionName: 'transferWithAuthorization',
      args: [...signed, ...this.#signatureArgs(signature as Hex)],
    }
  }

  /** A key's signature is passed in three parts, a contract's as a whole. */
  #signatureArgs(signature: Hex): readonly unknown[] {
    if (signature.length !== keySignatureCharacters) return [signature]
    const { r, s, v, yParity } = this.#packages.viem.parseSignature(signature)
    return [v ?? yParity, r, s]
  }

  async #judge(payment: EvmPayment): Promise<{ certain: boolean; verdict: Verdict }> {
    try {
      const answer = await this.#stock().verify(...stockTerms(payment))
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

  /** This may run the code of a wallet, so its gas is limited to that of a settlement. */
  #readContract(call: ContractCall): Promise<unknown> {
    const { client } = this.#sender
    return client.readContract({ ...call, gas: this.#gasAtMost } as unknown as Parameters<
      typeof client.readContract
    >[0])
  }

  /** Only verifies; it can send nothing. */
  #stock() {
    const { core, evm, exact } = this.#packages
    const { client, address } = this.#sender
    const signer = evm.toFacilitatorEvmSigner({
      address,
      readContract: call => this.#readContract(call as ContractCall),
      verifyTypedData: call => client.verifyTypedData(call as Parameters<typeof client.verifyTypedData>[0]),
      waitForTransactionReceipt: refuseToSend,
      getCode: call => client.getCode(call),
      writeContract: refuseToSend,
      sendTransaction: refuseToSend,
    })
    return new core.x402Facilitator().register(this.#network as `${string}:${string}`, new exact.ExactEvmScheme(signer))
  }
}

const refuseToSend = (): Promise<never> => Promise.reject(new Error('Verifying a payment sends nothing.'))

/** `0x` and 65 bytes. */
const keySignatureCharacters = 132

const isToPayee = ({ option, authorization }: EvmPayment): boolean =>
  authorization.to.toLowerCase() === option.payTo.toLowerCase()

/** Returns what the stock facilitator sees: only our option, and a payload of exactly two members. */
function stockTerms({ option, authorization, signature }: EvmPayment): [Payload, Requirements] {
  const requirements = { ...option, extra: { ...option.extra } } as Requirements
  return [{ x402Version, accepted: requirements, payload: { signature, authorization } }, requirements]
}
