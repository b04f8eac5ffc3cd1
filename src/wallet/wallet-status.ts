import { addUsd, type MicroUsd, microUsd } from '#contract/money.ts'
import { capWindowMs } from './limits.ts'
import { payerAmong } from './payment/payer.ts'
import { heldPayments, openPayments, reservedOf, spentOf } from './records/journal.ts'
import type { Work } from './records/records.ts'
import { refillRowsOf } from './records/refill-rows.ts'
import { otherServicesOf, payeesOf, withoutRepeated } from './rules/payees.ts'
import type { Policy, Refill } from './rules/policy.ts'
import { isStopped, type Stop, stopOf } from './rules/stop-switch.ts'
import type { Payee } from './terms/order.ts'

/** What the wallet may still do, and what is pending. Everything in it may be shown. */
export interface WalletStatus {
  /** The address that pays, or the first one if that is not decided yet. */
  address: string
  /** One per rail, Base first. */
  addresses: readonly string[]
  /** Whether the first payment, or credit at the service, has settled which address pays. */
  isPayerDecided: boolean
  origin: string
  /** Origins of services whose payees the user has approved, and which the configuration does not name. */
  otherServices: readonly string[]
  isStopped: boolean
  /** Who stopped all processes that share the journal; null if it is not stopped. */
  stop: Stop | null
  isDryRun: boolean
  caps: Pick<
    Policy,
    'maxPaymentMicroUsd' | 'maxDayMicroUsd' | 'maxTotalMicroUsd' | 'maxCallMicroUsd' | 'askAboveMicroUsd'
  >
  /** The next payment is the wallet's first, and it needs approval. */
  asksNextPayment: boolean
  spentDayMicroUsd: MicroUsd
  spentTotalMicroUsd: MicroUsd
  /** The parts of these whose payments are not confirmed: unanswered, or refused and not checked on the chain. */
  reservedDayMicroUsd: MicroUsd
  reservedTotalMicroUsd: MicroUsd
  /** What the wallet may still pay now: the minimum over its caps. */
  leftMicroUsd: MicroUsd
  /** When the day's oldest payment stops counting; null if nothing was spent. */
  moreFromMs: number | null
  /** Signed payments that are not settled and may still be collected. */
  openPayments: { receiptId: string; amountMicroUsd: MicroUsd; validBeforeMs: number | null; isRejected: boolean }[]
  /**
   * Payments that were given up after the service's rejection; they count against the caps until the user has checked
   * the chain.
   */
  heldPayments: { receiptId: string; amountMicroUsd: MicroUsd }[]
  payees: Payee[]
  /** Null if credit is not refilled ahead of need. */
  refill: RefillStatus | null
}

export interface RefillStatus extends Refill {
  /** A refill did not show up as credit, and the user must check. */
  isHalted: boolean
  /** Why the last one was not paid. */
  note: string | null
  /** The next refill is not considered before this time, in Unix milliseconds; null if nothing prevents it. */
  againAtMs: number | null
}

export interface StatusTerms {
  folder: string
  policy: Policy
  addresses: readonly [string, ...string[]]
  /** The address whose account was found to have credit, if none has paid yet. */
  found?: string | null
}

/** Needs no key: addresses are enough. */
export function* walletStatus(terms: StatusTerms, nowMs: number): Work<WalletStatus> {
  const { folder, policy, addresses, found = null } = terms
  const payer = yield* payerAmong(policy, addresses, found)
  const { dayMicroUsd, totalMicroUsd, oldestOfDayAtMs } = yield* spentOf(nowMs)
  const { maxPaymentMicroUsd, maxDayMicroUsd, maxTotalMicroUsd, maxCallMicroUsd, askAboveMicroUsd } = policy
  const open = yield* openPayments(addresses)
  const held = yield* heldPayments()
  const reserved = yield* reservedOf(nowMs)
  return {
    address: payer ?? addresses[0],
    addresses,
    isPayerDecided: payer !== null,
    origin: policy.origin,
    otherServices: yield* otherServicesOf(policy.origin),
    isStopped: yield* isStopped(folder),
    stop: yield* stopOf(),
    isDryRun: policy.dryRun,
    caps: { maxPaymentMicroUsd, maxDayMicroUsd, maxTotalMicroUsd, maxCallMicroUsd, askAboveMicroUsd },
    asksNextPayment: policy.asksFirstTopUp && totalMicroUsd === 0n,
    spentDayMicroUsd: microUsd(dayMicroUsd),
    spentTotalMicroUsd: microUsd(totalMicroUsd),
    reservedDayMicroUsd: reserved.dayMicroUsd,
    reservedTotalMicroUsd: reserved.totalMicroUsd,
    leftMicroUsd: least(maxDayMicroUsd - dayMicroUsd, maxTotalMicroUsd - totalMicroUsd),
    moreFromMs: oldestOfDayAtMs === null ? null : oldestOfDayAtMs + capWindowMs,
    openPayments: open.map(({ id, amountMicroUsd, validBeforeMs, isRejected }) => ({
      receiptId: id,
      amountMicroUsd,
      validBeforeMs,
      isRejected,
    })),
    heldPayments: held.map(({ id, amountMicroUsd }) => ({ receiptId: id, amountMicroUsd })),
    payees: withoutRepeated([...policy.payees, ...(yield* payeesOf(policy.origin))]),
    refill: policy.refill && { ...policy.refill, ...(yield* refillingOf(policy.origin, addresses, nowMs)) },
  }
}

function* refillingOf(
  origin: string,
  addresses: readonly string[],
  nowMs: number,
): Work<Omit<RefillStatus, keyof Refill>> {
  const rows = (yield* refillRowsOf(origin)).filter(({ address }) => addresses.includes(address))
  const noted = rows.find(({ isHalted }) => isHalted) ?? rows.find(({ note }) => note !== null)
  const isWaiting = noted !== undefined && !noted.isHalted && noted.notBeforeMs > nowMs
  return {
    isHalted: noted?.isHalted ?? false,
    note: noted?.note ?? null,
    againAtMs: isWaiting ? noted.notBeforeMs : null,
  }
}

/** Caps may have been lowered below what is already spent. */
const least = (one: bigint, other: bigint): MicroUsd => {
  const smaller = one < other ? one : other
  return addUsd(smaller > 0n ? smaller : 0n)
}
