import { lowered } from '#contract/errors/as-clause.ts'
import { displayUsd } from '#contract/money.ts'
import { displayTime } from '#contract/time.ts'
import { isLoopback } from '#contract/wire/network-address.ts'
import { chainName, smallestTopUpMicroUsd } from '#contract/wire/networks.ts'
import { onRampOf } from '#contract/wire/on-ramp.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import { qrCode } from '#host/pages/qr-code.ts'
import type { CapState, HoldingsView, PendingApproval, SeenView, StopState, WalletState } from '#pages/wallet/wire.ts'
import { attestations } from '#toolkit/approval.ts'
import type { SeenAmount, WalletView } from '#toolkit/tool-context.ts'
import { hiddenShown } from '#toolkit/values/untrusted.ts'
import type { Approval } from '#wallet/approvals/approvals.ts'
import { namespaceOf } from '#wallet/rules/policy.ts'
import { stopFileName } from '#wallet/rules/stop-switch.ts'
import type { WalletStatus } from '#wallet/wallet-status.ts'
import { type CapInEffect, howToRaise, topUpWithoutAsking } from '../settings/caps-in-effect.ts'
import type { OwnerWallet } from '../wallet/owner-wallet.ts'
import { asTyped, type WalletPlace } from '../words/typed-commands.ts'
import { paymentUri } from './qr.ts'

/** The state of the journal and the files, as the page shows it. */
export async function walletState(ownerWallet: OwnerWallet, place: WalletPlace, nowMs: number): Promise<WalletState> {
  const addresses = await ownerWallet.addresses()
  // With only an API key there is no wallet, but the user still decides on approvals here.
  const [first = '', ...others] = addresses
  const status = await ownerWallet.status([first, ...others])
  const pending = await ownerWallet.approvals.list('pending')
  const isLocal = isLoopback(new URL(status.origin).hostname)
  return {
    atMs: nowMs,
    service: status.origin,
    folder: ownerWallet.folder,
    isLocal,
    addresses: addresses.map(address => ({
      address,
      chain: chainOf(address),
      isPayer: status.isPayerDecided && status.address === address,
      qr: isLocal ? null : qrCode(paymentUri(address)),
    })),
    smallestTopUp: `${smallestTopUpMicroUsd}`,
    isDryRun: status.isDryRun,
    stop: stopState(status, ownerWallet.folder),
    caps: ownerWallet.caps().map(cap => capState(cap, ownerWallet.folder, status)),
    left: `${status.leftMicroUsd}`,
    moreFromMs: status.moreFromMs,
    refill: refillState(status),
    payees: status.payees.map(({ network, payTo }) => ({ chain: chainName(network), payTo })),
    attention: [...(addresses.length === 0 ? [noWallet] : []), ...attentionOf(status)].map(sentence =>
      asTyped(sentence, place),
    ),
    approvals: pending.map(approval => pendingApproval(ownerWallet, approval, place)),
    needsPassphrase: await ownerWallet.isGuarded(),
  }
}

const noWallet =
  'There is no wallet in this folder yet. Create one with `farebox wallet create --service URL`, or let your assistant offer it at the first paid call. With an API key you don’t need a wallet.'

const chainOf = (address: string): string => (namespaceOf(address) === 'eip155' ? 'Base' : 'Solana')

function stopState({ isStopped, stop }: WalletStatus, folder: string): StopState {
  const file = isStopped && stop === null ? `${folder}/${stopFileName}` : null
  return { isStopped, by: stop?.by ?? null, atMs: stop?.atMs ?? null, file }
}

function capState(cap: CapInEffect, folder: string, status: WalletStatus): CapState {
  const { spentDayMicroUsd, spentTotalMicroUsd, asksNextPayment } = status
  const used = { maxDayUsd: spentDayMicroUsd, maxTotalUsd: spentTotalMicroUsd }[cap.name as string] ?? null
  const left = used === null ? null : cap.amountMicroUsd > used ? cap.amountMicroUsd - used : 0n
  return {
    name: cap.name,
    title: titles[cap.name],
    limits: cap.name === 'askAboveUsd' ? withoutApproval(asksNextPayment) : limited[cap.name],
    amount: `${cap.amountMicroUsd}`,
    used: used === null ? null : `${used}`,
    left: left === null ? null : `${left}`,
    setBy: cap.saidBy,
    raising: `${howToRaise(cap, folder)}.`,
  }
}

const titles: Readonly<Record<CapInEffect['name'], string>> = {
  maxDayUsd: 'Payments in 24 hours',
  maxTotalUsd: 'All payments',
  maxPaymentUsd: 'One payment',
  maxCallUsd: 'One call',
  askAboveUsd: 'Approval threshold',
}

const limited: Readonly<Record<Exclude<CapInEffect['name'], 'askAboveUsd'>, string>> = {
  maxDayUsd: 'spent on credit at services',
  maxTotalUsd: 'since the journal began',
  maxPaymentUsd: 'the largest top-up',
  maxCallUsd: 'the highest price of a call',
}

const withoutApproval = (asksNextPayment: boolean): string =>
  asksNextPayment
    ? `a call or a requested top-up above this needs your approval, as does the first payment; after that, ${topUpWithoutAsking}`
    : `a call or a requested top-up above this needs your approval; ${topUpWithoutAsking}`

function refillState({ refill }: WalletStatus): WalletState['refill'] {
  if (!refill) return null
  const { belowMicroUsd, byMicroUsd, note, isHalted } = refill
  return { below: `${belowMicroUsd}`, by: `${byMicroUsd}`, note, isHalted }
}

/** One sentence for each problem, with the command that fixes it. */
function attentionOf({ openPayments, heldPayments, refill }: WalletStatus): string[] {
  return [
    ...openPayments.map(({ receiptId, amountMicroUsd, isRejected, validBeforeMs }) => {
      const after = validBeforeMs === null ? '' : ` After ${displayTime(validBeforeMs)} you can`
      const what = isRejected ? 'was refused by the service and could still be collected' : 'has an unknown outcome'
      return `A payment of ${displayUsd(amountMicroUsd)} ${what}. It is sent again before any other payment.${after === '' ? ' You can' : after} check the chain and run \`farebox wallet resolve ${receiptId}\`.`
    }),
    ...heldPayments.map(
      ({ receiptId, amountMicroUsd }) =>
        `A payment of ${displayUsd(amountMicroUsd)} was refused by the service and still counts against the caps. Check the chain, then run \`farebox wallet resolve ${receiptId}\`.`,
    ),
    ...(refill?.isHalted
      ? [
          `Refills have stopped: ${lowered(refill.note ?? 'the last one did not show up as credit.')} Check what the service charges, then run \`farebox wallet start\`.`,
        ]
      : []),
  ]
}

function pendingApproval(ownerWallet: OwnerWallet, approval: Approval, place: WalletPlace): PendingApproval {
  const { question, why, details, ifApproved, ifDenied, facts, expiresAtMs } = ownerWallet.approvals.asPending(approval)
  const isConsent = facts.kind === 'consent'
  return {
    id: approval.id,
    kind: facts.kind,
    ...{
      question,
      why: hiddenShown(why),
      details: details.map(({ name, value }) => ({ name, value: hiddenShown(value) })),
    },
    policyText: isConsent ? hiddenShown(facts.policyText) : null,
    statements: isConsent ? Object.entries(attestations).map(([name, text]) => ({ name, text })) : [],
    files: (approval.about?.files ?? []).map(({ name, bytes, sha256 }) => ({
      name: name === null ? null : hiddenShown(name),
      bytes,
      isFile: sha256 !== undefined,
    })),
    ...{ ifApproved, ifDenied: asTyped(ifDenied, place), expiresAtMs },
  }
}

/**
 * What a wallet has: its credit at the service and its balance on each chain, each with the time, or why it is unknown.
 */
export type Holdings = Pick<WalletView, 'creditMicroUsd' | 'creditSeen' | 'onChain'> & {
  /** The service's payment options, if it answers. */
  accepts?: readonly PaymentOption[]
}

/** Balances and credit, if a chain or a service answered. */
export const holdingsView = ({ creditMicroUsd, creditSeen, onChain, accepts = [] }: Holdings): HoldingsView => ({
  credit: seenView({ amountMicroUsd: creditMicroUsd, ...creditSeen }),
  balances: onChain.map(seen => ({
    address: seen.address,
    chain: chainOf(seen.address),
    onRamp: onRampOf(accepts, seen),
    ...seenView(seen),
  })),
})

const seenView = ({ amountMicroUsd, atMs, unknown }: SeenAmount): SeenView => ({
  amount: amountMicroUsd === null ? null : `${amountMicroUsd}`,
  atMs,
  unknown,
})
