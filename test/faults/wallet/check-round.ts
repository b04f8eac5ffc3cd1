import { resolvePayment } from '#wallet/payment/settle.ts'
import { listPayments, type Payment } from '#wallet/records/journal.ts'
import { all, type Records, type Row } from '#wallet/records/records.ts'
import type { Authorization, ServiceRecords } from './service-records.ts'

const open = new Set(['planned', 'signed', 'sent', 'unknown'])

/** Replays the journal in the order in which it was written: what was reserved, open and signed at each moment. */
export function checkSteps(steps: readonly Row[], payments: readonly Payment[], maxTotalMicroUsd: bigint): string[] {
  const failures: string[] = []
  const byId = new Map(payments.map(payment => [payment.id, payment]))
  const states = new Map<string, string>()
  const signatures = new Map<string, number>()
  for (const { payment_id, state } of steps) {
    const [id, next] = [String(payment_id), String(state)]
    // What is open at another service counts, and is no reason to wait.
    const origin = byId.get(id)?.origin
    const others = [...states].filter(
      ([other, at]) => other !== id && open.has(at) && byId.get(other)?.origin === origin,
    )
    if (next === 'planned' && others.length > 0) failures.push(`${id} was planned while ${others[0]?.[0]} was open.`)
    if (next === 'signed') signatures.set(id, (signatures.get(id) ?? 0) + 1)
    states.set(id, next)
    const counted = [...states].reduce((sum, [each, at]) => sum + countedOf(byId.get(each), at), 0n)
    if (next === 'planned' && counted > maxTotalMicroUsd)
      failures.push(`With ${id} ${counted} micro-USD were reserved, over the total.`)
  }
  for (const [id, count] of signatures) if (count > 1) failures.push(`${id} was signed ${count} times.`)
  for (const { id, nonce } of payments) {
    if (nonce !== null && !signatures.has(id)) failures.push(`${id} has a nonce and was never signed.`)
  }
  return failures
}

/** A payment that ended without having left counts until then. */
const countedOf = (payment: Payment | undefined, state: string): bigint =>
  payment && (payment.counts || state !== 'dead') ? payment.amountMicroUsd : 0n

export interface CheckedRound {
  records: Records
  stepsInOrder: string
  book: ServiceRecords
  maxTotalMicroUsd: bigint
  cooldownMs: number
  askAboveMicroUsd: bigint
}

export interface RoundFindings {
  failures: readonly string[]
  /** Payments that only the owner could end, and did. */
  resolved: number
}

const most = 1_000

/** Holds the journal, which is at rest and long after its last authorization, against the ledger of the service. */
export async function checkRound({ records, stepsInOrder, book, ...policy }: CheckedRound): Promise<RoundFindings> {
  const failures: string[] = [...book.failures]
  const atRest = await records.read(() => listPayments(most))
  const steps = await records.read(() => all(stepsInOrder))
  const resolved = await resolveOpen(records, atRest, book, failures)
  const payments = await records.read(() => listPayments(most))
  failures.push(...checkSteps(steps, payments, policy.maxTotalMicroUsd))
  const rows = new Map(payments.flatMap(payment => (payment.nonce === null ? [] : [[payment.nonce, payment] as const])))
  for (const authorization of book.authorizations.values()) {
    const payment = rows.get(authorization.nonce)
    if (payment) failures.push(...checkPayment(payment, authorization))
    else failures.push(`The service was sent ${authorization.nonce}, which is in no row.`)
  }
  for (const payment of payments) failures.push(...checkExit(payment, book))
  const counted = sumOf(payments.filter(payment => payment.counts))
  const stayed = sumOf(payments.filter(payment => payment.nonce !== null && !payment.counts))
  const signed = [...book.authorizations.values()].reduce((sum, each) => sum + each.amountMicroUsd, 0n)
  if (counted + stayed !== signed)
    failures.push(`Of ${signed} micro-USD that were signed ${stayed} are proven dead, and ${counted} are counted.`)
  failures.push(...checkCooldown(payments, policy.cooldownMs))
  const answers = await records.read(() => all("SELECT used_by FROM approvals WHERE state = 'approved'"))
  failures.push(...checkAnswers(payments, new Set(answers.map(row => row.used_by)), policy.askAboveMicroUsd))
  return { failures, resolved }
}

/** A payment that neither the service nor time has ended must be one that the owner can end, and that the service never answers. */
async function resolveOpen(
  records: Records,
  payments: readonly Payment[],
  { authorizations }: ServiceRecords,
  failures: string[],
): Promise<number> {
  let resolved = 0
  for (const { id, state, counts, nonce } of payments) {
    if (state === 'confirmed' || (state === 'dead' && !counts)) {
      if (state === 'dead' && nonce !== null)
        failures.push(`${id} was signed and released, but the owner has not resolved it.`)
      continue
    }
    const { behaviour, settledMicroUsd = 0n } = authorizations.get(nonce ?? '') ?? {}
    const wanted = state === 'dead' ? 'refused' : 'silent for good'
    if (behaviour !== wanted)
      failures.push(`${id} is ${state} at rest, and its service was: ${behaviour ?? 'not asked'}.`)
    try {
      await resolvePayment({ records, nodes: {} }, id, settledMicroUsd > 0n, 'the harness')
      resolved++
    } catch (error) {
      failures.push(`${id} is ${state} and has no way out: ${error instanceof Error ? error.message : error}`)
    }
  }
  return resolved
}

function checkPayment(payment: Payment, { amountMicroUsd, settledMicroUsd }: Authorization): string[] {
  const { id, state, counts, creditedMicroUsd } = payment
  const failures: string[] = []
  if (payment.amountMicroUsd !== amountMicroUsd) failures.push(`${id} was signed for another amount than its row says.`)
  if (settledMicroUsd > 0n && !counts) failures.push(`${id} has left the wallet and does not count.`)
  if (state === 'confirmed' && creditedMicroUsd !== settledMicroUsd)
    failures.push(`${id} is confirmed with ${creditedMicroUsd} micro-USD, and settled were ${settledMicroUsd}.`)
  return failures
}

function checkExit({ id, state, nonce }: Payment, { authorizations }: ServiceRecords): string[] {
  if (state !== 'confirmed' && state !== 'dead') return [`${id} has no end: it is ${state}.`]
  if (nonce !== null && !authorizations.has(nonce)) return [`${id} was signed, and the service has never seen it.`]
  return []
}

/** A 402 right after a payment asks for the same money twice. */
function checkCooldown(payments: readonly Payment[], cooldownMs: number): string[] {
  return payments.flatMap(({ id, occasion, createdAtMs }) => {
    const before = payments.find(
      ({ confirmedAtMs }) =>
        confirmedAtMs !== null && confirmedAtMs <= createdAtMs && createdAtMs - confirmedAtMs < cooldownMs,
    )
    return occasion === 'after-402' && before ? [`${id} was paid after a 402 that ${before.id} had already paid.`] : []
  })
}

/** One yes, one payment. */
const checkAnswers = (payments: readonly Payment[], used: ReadonlySet<unknown>, askAboveMicroUsd: bigint): string[] =>
  payments
    .filter(({ occasion, amountMicroUsd }) => occasion === 'asked' && amountMicroUsd > askAboveMicroUsd)
    .filter(({ id, nonce }) => nonce !== null && !used.has(id))
    .map(({ id }) => `${id} was signed without a yes of its own.`)

/** Between two waves, when no process works: every open payment is reserved. */
export async function checkReserved(records: Records): Promise<string[]> {
  const payments = await records.read(() => listPayments(most))
  return payments
    .filter(({ state, counts }) => state !== 'confirmed' && state !== 'dead' && !counts)
    .map(({ id, state }) => `${id} is ${state}, and nothing is reserved for it.`)
}

const sumOf = (payments: readonly Payment[]): bigint => payments.reduce((sum, each) => sum + each.amountMicroUsd, 0n)
