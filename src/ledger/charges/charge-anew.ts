import { addUsd, leastUsd, type MicroUsd, microUsd, zeroUsd } from '#contract/money.ts'
import { availableOf } from '../accounts/balances.ts'
import { anewAttempts, holdLeaseMs } from '../bounds.ts'
import { commitSurely, type Outcome, type Refusal, type Store } from '../store/store.ts'
import { entryRefs, type Line, type Op } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { type AlsoCommit, type ChargeOrder, type ChargeParts, type Cost, holdOf, noCost } from './charge-order.ts'

/** A call whose hold another process has ended, and the call's cost. */
export interface LostCall {
  order: ChargeOrder
  lines: readonly Line[]
  /**
   * Whether the caller already has what the lines charge for: then an amount that cannot be charged is lost, without an
   * error.
   */
  isDelivered: boolean
}

export interface ChargedAnew {
  cost: Cost
  availableMicroUsd: MicroUsd | null
  /** Why the operations that were to be committed with it were refused. */
  refused: Refusal | null
}

/**
 * Charges a call whose hold is gone, with a hold and a capture in one unit, as far as the credit reaches; the rest is
 * written off. If the process that ended its hold charged its last checkpoint, nothing more is charged, because no
 * request is charged twice. If nothing has been delivered yet, throws the reason why the hold is refused.
 */
export async function chargeAnew(parts: ChargeParts, lost: LostCall, alsoCommit: AlsoCommit): Promise<ChargedAnew> {
  const { funding, onHoldLost } = parts
  const { order, lines, isDelivered } = lost
  const total = addUsd(zeroUsd, ...lines.map(line => line.amount))
  const report = (charged: Cost) => {
    const lostMicroUsd = microUsd(total - charged.usd - charged.staking)
    if (total > 0n)
      onHoldLost?.(order, { totalMicroUsd: total, lostMicroUsd: lostMicroUsd > 0n ? lostMicroUsd : zeroUsd })
  }
  let why: Refusal = 'no_hold'
  for (let attempt = 0; attempt < anewAttempts && lines.length > 0; attempt++) {
    const before = await chargedBefore(parts.store, order.request)
    if (before) {
      report(before)
      return besideAlone(parts, lost, before, alsoCommit)
    }
    const tried = await tryAnew(parts, lost, alsoCommit)
    if ('cost' in tried) {
      // Work that another process has taken over is charged there.
      if (!tried.refused || isDelivered) report(tried.cost)
      return tried
    }
    why = tried.why
    if (!movedMeanwhile.has(why)) break
  }
  if (lines.length > 0 && !isDelivered) throw await funding.refusal({ ...order, hold: order.request }, why)
  report(noCost)
  return besideAlone(parts, lost, noCost, alsoCommit)
}

/** Another call used the credit, or another process charged the request, after we had checked. */
const movedMeanwhile: ReadonlySet<Refusal> = new Set(['insufficient_funds', 'over_budget', 'request_charged'])

async function tryAnew(
  { store, clock, owner, funding, onWriteOff }: ChargeParts,
  { order, lines, isDelivered }: LostCall,
  alsoCommit: AlsoCommit,
): Promise<ChargedAnew | { why: Refusal }> {
  const { request, principal, model } = order
  const total = addUsd(zeroUsd, ...lines.map(line => line.amount))
  const { within } = await funding.spendable(principal)
  const staking = leastUsd(total, within.staking)
  const usd = leastUsd(microUsd(total - staking), within.usd)
  const [cost, amount] = [{ usd, staking }, addUsd(usd, staking)]
  const atMs = clock.now()
  const hold = uuidV7(atMs)
  const holding = await funding.holdOps({ hold, principal, amount }, { owner, untilMs: atMs + holdLeaseMs })
  const writeOff = microUsd(total - amount)
  const charging: Op[] = [
    // It starts and ends within one unit, so it does not count as a call in flight.
    ...holding.map(op => (op.op === 'hold' ? { ...op, mostOpen: null } : op)),
    { op: 'capture', hold, request, model, lines, ...(writeOff > 0n ? { writeOff } : {}), atMs },
  ]
  // Refused units leave no trace, so each attempt may use the same names for the call's entries.
  const commit = (beside: readonly Op[]): Promise<Outcome> =>
    commitSurely(store, { id: `${holdOf(order)}/anew`, ops: [...charging, ...beside] })
  let outcome = await commit(await alsoCommit(cost))
  const refused = !outcome.ok && outcome.op >= charging.length ? outcome.why : null
  if (refused && !isDelivered) return { cost: noCost, availableMicroUsd: null, refused }
  if (refused) outcome = await commit([])
  if (!outcome.ok) return { why: outcome.why }
  if (writeOff > 0n) onWriteOff(order, writeOff)
  return { cost, availableMicroUsd: availableOf(outcome.balances, principal.account), refused }
}

/** Commits, without the hold, the operations that belonged to its end. */
async function besideAlone(
  { store }: ChargeParts,
  { order }: LostCall,
  cost: Cost,
  alsoCommit: AlsoCommit,
): Promise<ChargedAnew> {
  const ops = await alsoCommit(cost)
  const outcome = ops.length ? await commitSurely(store, { id: `${holdOf(order)}/beside`, ops }) : null
  return { cost, availableMicroUsd: null, refused: outcome && !outcome.ok ? outcome.why : null }
}

/** Returns how much a request was charged so far; null if it was not charged. */
async function chargedBefore(store: Store, request: string): Promise<Cost | null> {
  const [charge, writeOff, staking] = [entryRefs.charge, entryRefs.writeOff, entryRefs.staking].map(name =>
    name(request),
  ) as [string, string, string]
  const rows = await store.read
    .selectFrom('entry')
    .select(['ref', 'amount'])
    .where('ref', 'in', [charge, writeOff, staking])
    .execute()
  if (!rows.some(({ ref }) => ref === charge)) return null
  const sum = (of: string) => addUsd(zeroUsd, ...rows.filter(({ ref }) => ref === of).map(row => microUsd(row.amount)))
  return { usd: microUsd(sum(charge) - sum(writeOff) - sum(staking)), staking: sum(staking) }
}
