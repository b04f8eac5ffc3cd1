import { displayUsd, type MicroUsd, microUsd, zeroUsd } from '#contract/money.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { networkName, smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import type {
  ChargeReceipt,
  PaidOptions,
  Receipt,
  SeenAmount,
  ToppedUp,
  WalletClient,
  WalletView,
} from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { balanceAndTime, type WhyUnseen } from '#wallet/chains/balance.ts'
import { nodesInUse, tokenNamesIn } from '#wallet/chains/nodes.ts'
import { keyFileAddresses } from '#wallet/keys/key-file.ts'
import { lookTimeoutMs, noNode } from '#wallet/limits.ts'
import { listPayments, type Payment } from '#wallet/records/journal.ts'
import { defaultRails, namespaceOf, railOf } from '#wallet/rules/policy.ts'
import { type WalletStatus, walletStatus } from '#wallet/wallet-status.ts'
import { sameCallMs } from '../bounds.ts'
import type { AgentContext } from '../context.ts'
import { chargeReceipt } from '../receipts/receipt-rows.ts'
import type { Receipts } from '../receipts/receipts.ts'
import { cannotPay } from '../words/explain.ts'
import { asTyped, placeOf } from '../words/typed-commands.ts'
import { refillOf, seeCredit } from './limits-view.ts'
import { sayRefill } from './refills.ts'

export class ToolWallet implements WalletClient {
  readonly #agent: AgentContext
  readonly #receipts: Receipts
  readonly #balances: Balances
  #credited: SeenAmount | null = null

  constructor(agent: AgentContext, receipts: Receipts) {
    this.#agent = agent
    this.#receipts = receipts
    this.#balances = new Balances(agent)
  }

  async status(): Promise<WalletView> {
    const view = await this.#view()
    return { ...view, next: view.next === null ? null : asTyped(view.next, placeOf(this.#agent)) }
  }

  async #view(): Promise<WalletView> {
    const { pays, client, policy, clock } = this.#agent
    const status = await statusOf(this.#agent)
    const [credit, onChain] = await Promise.all([this.#credit(), this.#balances.look(status?.addresses ?? [])])
    const { creditMicroUsd, problem, seen: creditSeen } = credit
    const view = { pays, service: client.address.baseUrl, creditMicroUsd, creditSeen, onChain, atMs: clock.now() }
    const missing = pays === 'nothing' ? whatIsMissing(this.#agent) : null
    if (!status) {
      const none = { address: null, network: null, caps: null, spent: null, refill: null, payee: null }
      return { ...view, ...none, asksNextPayment: false, unresolved: 0, next: missing ?? problem }
    }
    const { caps } = status
    const network = railOf(policy, status.address)?.network ?? null
    return {
      ...view,
      address: status.address,
      network,
      caps: {
        perPayment: caps.maxPaymentMicroUsd,
        perCall: caps.maxCallMicroUsd,
        perDay: caps.maxDayMicroUsd,
        total: caps.maxTotalMicroUsd,
        askAbove: caps.askAboveMicroUsd,
      },
      asksNextPayment: status.asksNextPayment,
      spent: {
        today: status.spentDayMicroUsd,
        total: status.spentTotalMicroUsd,
        reserved: status.reservedTotalMicroUsd,
      },
      refill: refillOf(policy),
      unresolved: status.openPayments.length + status.heldPayments.length,
      payee: status.payees.find(payee => payee.network === network)?.payTo ?? null,
      next:
        missing ?? joined(problem, creditMicroUsd === zeroUsd ? fundFirst(status, onChain) : null, nextStep(status)),
    }
  }

  /** Current, or else what was seen last, with its time. */
  async #credit() {
    const { creditMicroUsd, problem, seen } = await seeCredit(this.#agent)
    if (creditMicroUsd !== null) this.#credited = { amountMicroUsd: creditMicroUsd, ...seen }
    if (this.#credited === null) return { creditMicroUsd, problem, seen }
    const { amountMicroUsd, atMs, unknown } = this.#credited
    return { creditMicroUsd: amountMicroUsd, problem, seen: { atMs, unknown } }
  }

  async topUp(amountMicroUsd: MicroUsd, { again = false }: PaidOptions = {}): Promise<ToppedUp> {
    const { wallet, topUps, client, pays } = this.#agent
    if (!wallet) throw pays === 'apiKey' ? keyIsNeverToppedUp() : cannotPay(this.#agent)
    const offer = await topUps.offer()
    const order = { origin: client.address.origin, ...offer, amountMicroUsd, purpose: 'Requested credit' }
    // A client that lost the answer calls once more: a payment of a moment ago is the answer to that call.
    const same = again ? {} : { sameWithinMs: sameCallMs }
    const paid = await wallet.pay({ ...order, ...same, occasion: 'asked' }, topUps.send)
    const payment = (await wallet.receipts(listed)).find(({ id }) => id === paid.receiptId)
    if (!payment) throw new Error('A payment that was just made is not in the journal.')
    return {
      receipt: receiptOf(payment),
      paid: {
        chargedMicroUsd: paid.isEarlier ? zeroUsd : paid.amountMicroUsd,
        // The credit after an earlier payment is not the current one.
        creditLeftMicroUsd: paid.isEarlier ? null : paid.newBalanceMicroUsd,
        budgetLeftMicroUsd: (await wallet.status()).leftMicroUsd,
        ...(paid.isEarlier ? { isEarlierCall: true } : {}),
      },
    }
  }

  /** Reading needs no key, so the payments of a locked wallet are shown too. */
  async receipts(limit: number): Promise<Receipt[]> {
    return (await this.#agent.records.read(() => listPayments(limit))).map(receiptOf)
  }

  async charges(limit: number, options?: { isOfAllServices?: boolean }): Promise<ChargeReceipt[]> {
    return (await this.#receipts.list(limit, options)).map(chargeReceipt)
  }
}

/** The payment is among the newest, because a wallet makes fewer in ten minutes. */
const listed = 100

/** Why a wallet did not open is reported before what to do about it. */
function whatIsMissing(agent: AgentContext): string {
  const { happened, next } = cannotPay(agent).facts
  return agent.lockedBecause === null ? next : `${happened} ${next}`
}

const joined = (...sentences: readonly (string | null)[]): string | null =>
  sentences.filter(sentence => sentence !== null).join(' ') || null

/** Also for a locked wallet, because addresses are enough; null if there is none. */
async function statusOf({ wallet, lockedWallet, state, policy, records }: AgentContext): Promise<WalletStatus | null> {
  if (wallet) return wallet.status()
  if (lockedWallet === null) return null
  const [, ...others] = keyFileAddresses(state.folder) ?? []
  const terms = { folder: state.folder, policy, addresses: [lockedWallet, ...others] as const }
  return records.read(nowMs => walletStatus(terms, nowMs))
}

function nextStep({ isStopped, isDryRun, openPayments, heldPayments, payees, refill }: WalletStatus): string | null {
  if (isStopped)
    return 'The wallet is stopped. The user can run `farebox wallet start`, or remove the file `stop` from its data folder.'
  if (isDryRun)
    return `This is a dry run: no payment is signed until the user unsets FAREBOX_DRY_RUN.${refill?.note ? ` The last refill reported: ${refill.note}` : ''}`
  const [open] = openPayments
  if (open) return openStep(open)
  const [held] = heldPayments
  if (held) return heldStep(held, heldPayments.length)
  const notRefilled = refill && sayRefill(refill)
  if (notRefilled) return notRefilled
  if (payees.length === 0) return 'The first payment needs the user’s approval of the payee.'
  return null
}

function openStep({
  receiptId,
  amountMicroUsd,
  isRejected,
  validBeforeMs,
}: WalletStatus['openPayments'][number]): string {
  const payment = `the payment ${receiptId} of ${displayUsd(amountMicroUsd)}`
  const until = validBeforeMs === null ? 'then' : `${new Date(validBeforeMs).toISOString().slice(11, 16)} UTC`
  return isRejected
    ? `The service refused ${payment}, so its amount is reserved: the payment could still be collected until ${until}. The user should check whether the wallet has enough USDC. The same payment is sent again before any other.`
    : `It is unknown whether ${payment} arrived. The same payment is sent again before any other.`
}

const heldStep = ({ receiptId, amountMicroUsd }: WalletStatus['heldPayments'][number], count: number): string =>
  `${count === 1 ? 'A payment' : `${count} payments`} that the service refused still count${count === 1 ? 's' : ''} against the caps, because only the service reports that it was not collected. After checking the chain, the user can run \`farebox wallet resolve ${receiptId}\` (${displayUsd(amountMicroUsd)}); with a node in FAREBOX_EVM_RPC_URL the wallet checks its balance before it pays.`

const receiptOf = (payment: Payment): Receipt => ({
  id: payment.id,
  atMs: payment.createdAtMs,
  state: payment.state,
  amountMicroUsd: payment.amountMicroUsd,
  network: payment.network,
  payTo: payment.payTo,
  transaction: payment.transaction,
  purpose: payment.purpose,
})

const keyIsNeverToppedUp = (): ToolFailure =>
  new ToolFailure({
    happened: 'Calls are paid with an API key, and farebox cannot buy credit for a key.',
    charged: zeroUsd,
    next: 'Ask the owner of the account to add credit.',
  })

/**
 * What the user must do before a new wallet can pay: if nothing was ever paid or reserved, which address needs money.
 * Balances may be unknown or some seconds old, so the sentence also fits a wallet that was just funded.
 */
function fundFirst(status: WalletStatus, onChain: WalletView['onChain']): string | null {
  if (onChain.some(({ amountMicroUsd }) => (amountMicroUsd ?? zeroUsd) >= smallestTopUpMicroUsd)) return null
  if (status.spentTotalMicroUsd > 0n || status.isDryRun || status.isStopped) return null
  const addresses = status.isPayerDecided ? [status.address] : status.addresses
  if (isLoopback(new URL(status.origin).hostname))
    return `The wallet has never paid, and there is no credit. If it has no funds yet, \`farebox local fund ${addresses[0]} --usd 10\` sends it test USDC on the local chain of that service. Do not send it real USDC.`
  const places = addresses.map(address => {
    const rail = railOf({ rails: defaultRails }, address)
    return rail ? `${address} on ${networkName(rail.network)}` : address
  })
  return `The wallet has never paid, and there is no credit. If it has no funds yet, ask the user to send USDC to ${places.join(', or to ')}.`
}

/** What the wallet's addresses hold on their chains. Bounded in time, and never throws: an unknown balance says why. */
export class Balances {
  readonly #agent: AgentContext
  readonly #known = new Map<string, SeenAmount>()

  constructor(agent: AgentContext) {
    this.#agent = agent
  }

  async look(addresses: readonly string[]): Promise<WalletView['onChain']> {
    const { policy, nodes: given, client, clock } = this.#agent
    const { origin } = client.address
    const tokenNames = await this.#tokenNames()
    const nodes = nodesInUse(given, { origin, rails: policy.rails, tokenNames: tokenNames ?? [null] })
    return Promise.all(
      addresses.flatMap(address => {
        const rail = railOf(policy, address)
        if (!rail) return []
        const whyNoNode = this.#whyNoNode(address, tokenNames)
        return [
          balanceAndTime(nodes, rail, address).then(({ balance, why }) => {
            const place = { network: rail.network, address }
            if (balance === null) return { ...place, ...this.#lastOf(address, words(why, whyNoNode)) }
            const seen = { amountMicroUsd: microUsd(balance), atMs: clock.now(), unknown: null }
            this.#known.set(address, seen)
            return { ...place, ...seen }
          }),
        ]
      }),
    )
  }

  /** The last known value is better than nothing. */
  #lastOf(address: string, unknown: string): SeenAmount {
    return this.#known.get(address) ?? { amountMicroUsd: null, atMs: null, unknown }
  }

  /** Returns null if the service does not say; for a local service it does not matter. */
  async #tokenNames(): Promise<readonly unknown[] | null> {
    const { client, topUps } = this.#agent
    if (isLoopback(new URL(client.address.origin).hostname)) return []
    const offer = await topUps.offer(AbortSignal.timeout(lookTimeoutMs)).catch(() => null)
    return offer && tokenNamesIn(offer.accepts)
  }

  #whyNoNode(address: string, tokenNames: readonly unknown[] | null): string {
    const { nodes, client } = this.#agent
    if (nodes[namespaceOf(address)] === noNode) return 'the settings name no node'
    if (isLoopback(new URL(client.address.origin).hostname))
      return 'the service is on this machine, and no node is set for its chain'
    return tokenNames === null
      ? 'the service did not report which token it accepts'
      : 'the service accepts a different token than the network’s own USDC'
  }
}

const words = (why: WhyUnseen | null, whyNoNode: string): string =>
  why === 'no node'
    ? whyNoNode
    : why === 'another chain'
      ? 'the node belongs to another chain'
      : 'the node of the chain did not answer'
