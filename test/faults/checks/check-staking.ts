import type { Book, Staker } from '../book.ts'
import { boundedHoldMicroUsd, heldAfterKillMs, midnightMs } from '../bounds.ts'
import type { Findings } from './findings.ts'
import { type ChargeRow, dayMs, type LedgerRows } from './ledger-rows.ts'

/** Staking credit paid what the answers told, nobody's who has not staked, never more than a day gives, and before USD did. */
export function checkStaking(book: Book, rows: LedgerRows, earlier: ReadonlySet<string>, findings: Findings): void {
  for (const [request, told] of book.staking) {
    const used = rows.charges.get(request)?.staking ?? 0n
    if (used === told) continue
    findings.lose(told - used, `Request ${request} was told ${told} of staking credit, and ${used} paid for it.`)
  }
  const byAccount = Map.groupBy(rows.charges.values(), ({ account }) => account)
  const stakers = new Map(book.stakers.map(staker => [`wallet:${staker.wallet.address.toLowerCase()}`, staker]))
  for (const [account, charges] of byAccount) {
    const staker = stakers.get(account)
    if (staker) checkStaker(staker, charges, findings)
    else
      checkNoStaker(
        account,
        charges.filter(({ request }) => !earlier.has(request)),
        findings,
      )
  }
}

function checkNoStaker(account: string, charges: readonly ChargeRow[], findings: Findings): void {
  const staked = charges.find(({ staking }) => staking !== 0n)
  if (staked)
    findings.fail(`Account ${account} has staked nothing, and ${staked.staking} of staking credit paid for it.`)
}

function checkStaker(staker: Staker, charges: readonly ChargeRow[], findings: Findings): void {
  const { wallet, dailyMicroUsd } = staker
  const spent = new Map<number, bigint>()
  for (const { request, atMs, stakingDayMs, staking, usd } of charges) {
    const today = atMs - (atMs % dayMs)
    const day = stakingDayMs ?? today
    const isNearMidnight = atMs - today < midnightMs
    if (day !== today && !(isNearMidnight && day === today - dayMs))
      findings.fail(`Request ${request} took staking credit of another day than its own.`)
    const spentMicroUsd = (spent.get(day) ?? 0n) + staking
    spent.set(day, spentMicroUsd)
    if (spentMicroUsd > dailyMicroUsd)
      findings.fail(`Wallet ${wallet.address} has ${dailyMicroUsd} a day, and ${spentMicroUsd} were spent.`)
    if (usd === 0n || isNearMidnight) continue
    const held = boundedHoldMicroUsd * BigInt(heldBeside(staker, atMs))
    const left = dailyMicroUsd - spentMicroUsd - held
    if (left > 0n) findings.fail(`Request ${request} took ${usd} USD while ${left} of staking credit were left.`)
  }
}

/** Calls whose hold may have been left by a kill at that time. */
const heldBeside = ({ unknownAtMs }: Staker, atMs: number): number =>
  unknownAtMs.filter(sentMs => sentMs <= atMs && sentMs > atMs - heldAfterKillMs).length
