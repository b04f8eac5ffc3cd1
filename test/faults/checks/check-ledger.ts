import { createChatCompletion } from '#contract/operations/chat.ts'
import { claimId } from '#service/http/idempotency/replayed-answer.ts'
import { boundedHoldMicroUsd, heldAfterKillMs, midnightMs } from '../bounds.ts'
import { type BudgetKey, type LoadRecords, type Staker, sumOf } from '../load-records.ts'
import type { Findings } from './findings.ts'
import { type ChargeRow, dayMs, type LedgerRows } from './ledger-rows.ts'

/** Every acknowledged charge stands with its exact amount, no request has two, and what was refused cost nothing. */
export function checkCharges(book: LoadRecords, rows: LedgerRows, findings: Findings): void {
  for (const [request, acknowledged] of book.charges) {
    const charged = rows.charges.get(request)?.amount
    if (charged === undefined) {
      findings.lose(acknowledged ?? 1n, `Request ${request} was acknowledged at ${acknowledged}, and no charge stands.`)
    } else if (acknowledged !== null && charged !== acknowledged) {
      const sentence = `Request ${request} was acknowledged at ${acknowledged} micro-USD and charged ${charged}.`
      findings.lose(charged - acknowledged, sentence)
    }
  }
  for (const [request, { refs }] of rows.charges) {
    if (refs !== 1n) findings.fail(`Request ${request} was charged ${refs} times.`)
  }
  for (const [request, status] of book.refused) {
    const charged = rows.charges.get(request)?.amount
    if (charged !== undefined)
      findings.lose(charged, `Request ${request} was refused with ${status} and charged ${charged}.`)
  }
  for (const [account, granted] of book.grants) {
    const stands = rows.grants.get(account) ?? 0n
    if (stands !== granted)
      findings.lose(granted - stands, `Account ${account} was granted ${granted} and has ${stands}.`)
  }
}

/** A charge that we know nothing of belongs to a request whose answer was lost; `earlier` are those of other runs. */
export function checkUnknownCharges(
  book: LoadRecords,
  rows: LedgerRows,
  earlier: ReadonlySet<string>,
  findings: Findings,
): void {
  // Whose request a keyed call was taken up as is known, whatever became of its answers.
  const keyed = keyedRequests(book, rows)
  const unknown = [...rows.charges.keys()].filter(
    request => !book.charges.has(request) && !book.open.has(request) && !keyed.has(request) && !earlier.has(request),
  )
  const unanswered = sumOf({ ...book.unanswered, 'keyed chat': 0, 'keyed stream': 0 })
  if (unknown.length <= unanswered) return
  findings.fail(`${unknown.length} charges belong to no request that was answered; ${unanswered} were lost.`)
}

/** The requests that the recorded calls became: one for each call, however often it was sent. */
export function keyedRequests({ keyed, keyedCaller }: LoadRecords, { claims }: LedgerRows): Set<string> {
  const rows = keyedCaller
    ? keyed.map(({ key }) => claims.get(claimId(keyedCaller.account, createChatCompletion, key)))
    : []
  return new Set(rows.flatMap(row => (row ? [row.request] : [])))
}

/** Each answered call under a key is charged once, with the amount in the answer, and nothing else is charged. */
export function checkKeyed(book: LoadRecords, rows: LedgerRows, findings: Findings): void {
  const { keyedCaller } = book
  if (!keyedCaller) return
  for (const call of book.keyed) {
    const claim = rows.claims.get(claimId(keyedCaller.account, createChatCompletion, call.key))
    if (!call.acknowledged) continue
    const { costMicroUsd } = call.acknowledged
    const charged = claim && rows.charges.get(claim.request)
    if (claim?.state !== 'done') findings.fail(`Key ${call.key} was answered, and its claim is ${claim?.state}.`)
    if (!charged) {
      findings.lose(costMicroUsd, `Key ${call.key} was answered at ${costMicroUsd}, and no charge stands.`)
      continue
    }
    // What a killed process had written down is charged before, and then the answer costs nothing more.
    if (charged.amount === costMicroUsd || (costMicroUsd === 0n && call.wasCut)) continue
    const sentence = `Key ${call.key} was answered at ${costMicroUsd} micro-USD and charged ${charged.amount}.`
    findings.lose(charged.amount - costMicroUsd, sentence)
  }
  const known = keyedRequests(book, rows)
  for (const [request, { apiKey, amount }] of rows.charges) {
    if (apiKey !== keyedCaller.keyId || known.has(request)) continue
    findings.lose(amount, `Request ${request} was charged ${amount} beside the one that its key was taken up as.`)
  }
}

/** What a key was charged in USD, from the entries alone, is within its budget in each period; and each charge names its key. */
export function checkBudgets(book: LoadRecords, rows: LedgerRows, findings: Findings): void {
  for (const [request, keyId] of book.budgeted) {
    const charge = rows.charges.get(request)
    if (charge && charge.apiKey !== keyId)
      findings.fail(`Request ${request} of key ${keyId} names key ${charge.apiKey}.`)
  }
  const byKey = Map.groupBy(rows.charges.values(), ({ apiKey }) => apiKey)
  for (const key of book.budgetKeys) checkBudget(key, byKey.get(key.keyId) ?? [], findings)
}

function checkBudget({ keyId, period, limitMicroUsd }: BudgetKey, charges: ChargeRow[], findings: Findings): void {
  // A hold of the day before may be charged after midnight, and counts there.
  const sure = period === 'lifetime' ? charges : charges.filter(({ atMs }) => atMs % dayMs > midnightMs)
  const periods = Map.groupBy(sure, ({ atMs }) => (period === 'lifetime' ? 0 : atMs - (atMs % dayMs)))
  for (const inPeriod of periods.values()) {
    const spent = inPeriod.reduce((sum, charge) => sum + charge.usd, 0n)
    if (spent <= limitMicroUsd) continue
    findings.fail(`Key ${keyId} may spend ${limitMicroUsd} micro-USD (${period}), and has spent ${spent}.`)
  }
}

/** Staking credit paid what the answers say, only for wallets with a stake, never more than a day gives, and before USD. */
export function checkStaking(
  book: LoadRecords,
  rows: LedgerRows,
  earlier: ReadonlySet<string>,
  findings: Findings,
): void {
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

/** Every acknowledged video is there under its request; a charge and a job exist together or not at all. */
export function checkJobs(book: LoadRecords, rows: LedgerRows, findings: Findings): void {
  for (const [id, { requestId, completed }] of book.jobs) {
    const job = rows.jobs.get(id)
    if (!job) findings.fail(`Job ${id} was acknowledged, and there is none.`)
    else if (job.request !== requestId) findings.fail(`Job ${id} belongs to ${job.request}, not to ${requestId}.`)
    else if (completed && job.state !== 'completed')
      findings.fail(`Job ${id} was finished, and now it is ${job.state}.`)
  }
  for (const [id, { request }] of rows.jobs) {
    if (!rows.charges.has(request)) findings.fail(`Job ${id} has no charge.`)
  }
}

/** At the end each is completed, or failed and paid back whole. */
export function checkJobsEnded(rows: LedgerRows, findings: Findings): void {
  for (const [id, { state, request }] of rows.jobs) {
    const charged = rows.charges.get(request)?.amount ?? 0n
    const refunded = rows.refunds.get(request) ?? 0n
    if (state === 'queued' || state === 'running') findings.fail(`Job ${id} never ended; it is ${state}.`)
    if (state === 'failed' && refunded !== charged) {
      findings.lose(charged - refunded, `Job ${id} failed; it cost ${charged} and ${refunded} came back.`)
    }
    if (state === 'completed' && refunded !== 0n) findings.fail(`Job ${id} is completed, and ${refunded} came back.`)
  }
}
