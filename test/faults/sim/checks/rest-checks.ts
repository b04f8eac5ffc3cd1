import { operations } from '#contract/operations/operations.ts'
import { audit } from '#ledger/audit/audit.ts'
import { claimId } from '#service/http/idempotency/replayed-answer.ts'
import type { SentPayment } from '../call-records.ts'
import { honouredMs } from '../calls/keyed.ts'
import type { InterestingState } from '../sometimes.ts'
import type { World } from '../world.ts'
import { checkLedger } from './ledger-checks.ts'

/** True when nothing is in flight any more. */
export function isQuiet(world: World): boolean {
  if (world.book.openCalls.size > 0) return false
  const [left] = world.database.rows<{ n: bigint }>(`SELECT
    (SELECT count(*) FROM hold)
    + (SELECT count(*) FROM payment WHERE state IN ('claimed', 'settling', 'unknown'))
    + (SELECT count(*) FROM job WHERE state IN ('queued', 'running')) AS n`)
  return left?.n === 0n
}

/** What did not come to an end. */
export function unrest(world: World): string {
  const rows = world.database.rows<{ what: string }>(`
    SELECT 'hold ' || id || ' until ' || lease_until_ms AS what FROM hold
    UNION ALL SELECT 'payment ' || id || ' ' || state FROM payment WHERE state IN ('claimed', 'settling', 'unknown')
    UNION ALL SELECT 'job ' || id || ' ' || state FROM job WHERE state IN ('queued', 'running')`)
  return [...world.book.openCalls.values(), ...rows.map(({ what }) => what)].join('; ')
}

/** At rest, after every fault has stopped: nothing was lost, and nothing came from nowhere. */
export async function checkAtRest(world: World): Promise<void> {
  checkLedger(world)
  checkChain(world)
  checkRequests(world)
  checkJobs(world)
  checkKeyed(world)
  noteLedger(world)
  const clock = { now: () => world.trueMs() }
  const { findings } = await audit(world.database.auditReader(), { clock })
  for (const { sentence } of findings) world.broken(`The audit says: ${sentence}`)
}

/** Credits are the transfers that reached the payee, neither more nor less, once every payer has asked again. */
function checkChain(world: World): void {
  const landed = world.transfersToPayee()
  const came = landed.reduce((sum, { order }) => sum + order.amount, 0n)
  const [row] = world.database.rows<{ credited: bigint }>(
    `SELECT coalesce(sum(amount), 0) AS credited FROM entry WHERE kind = 'TOP_UP'`,
  )
  if (row?.credited !== came) world.broken(`${came} micro-USD came, and ${row?.credited} were credited.`)
  for (const { order } of unacknowledged(world)) world.broken(`Payment ${order.id} came and was never acknowledged.`)
}

/** Payments that reached the payee, whose payers still do not know. */
export function unacknowledged(world: World): SentPayment[] {
  const landed = new Set(world.transfersToPayee().map(({ order }) => order.id))
  return world.book.payments.filter(({ order, acknowledged }) => !acknowledged && landed.has(order.id))
}

interface Costs {
  request: string
  charged: bigint
}

function checkRequests(world: World): void {
  const rows = world.database.rows<Costs>(`
    SELECT request, sum(CASE kind WHEN 'CHARGE' THEN amount WHEN 'WRITE_OFF' THEN -amount ELSE 0 END) AS charged
    FROM entry WHERE kind IN ('CHARGE', 'WRITE_OFF') GROUP BY request`)
  const charges = new Map(rows.map(({ request, charged }) => [request, charged]))
  for (const [id, { status, cost, delivered, left }] of world.book.requests) {
    const charged = charges.get(id) ?? 0n
    if (cost !== null && charged !== cost && !left)
      world.broken(`Request ${id} was told to cost ${cost} and was charged ${charged}.`)
    if (world.book.excused.has(id) || world.book.jobs.has(id)) continue
    // A caller who has left sees no status, and owes what the engine did.
    if (status >= 400 && !left && charged !== 0n)
      world.broken(`Request ${id} failed with ${status} and was charged ${charged}.`)
    // A stream that was left owes its prompt once the engine has begun.
    if (!delivered && !left && charged !== 0n)
      world.broken(`Request ${id} was delivered nothing and was charged ${charged}.`)
  }
}

/** Every video that was acknowledged is there, and came to an end. */
function checkJobs(world: World): void {
  const states = new Map(
    world.database.rows<{ id: string; state: string }>('SELECT id, state FROM job').map(({ id, state }) => [id, state]),
  )
  for (const [id, { delivered }] of world.book.jobs) {
    const state = states.get(id)
    if (!state) world.broken(`Job ${id} was acknowledged, and there is none.`)
    if (delivered && state === 'failed') world.broken(`Job ${id} was delivered, and it is said to have failed.`)
  }
}

/**
 * Work under a key is charged once, as its one answer says; unless an attempt before that one was charged for what it had
 * delivered or written down, and died or lost the key: then the answer of the next attempt costs nothing.
 */
function checkKeyed(world: World): void {
  for (const { key, caller, answer, cost, path, sentAtMs } of world.book.keyed) {
    const operation = operations.find(each => path.endsWith(each.path))
    if (answer === null || cost === null || !operation || world.trueMs() - sentAtMs > honouredMs) continue
    const claim = claimId(caller.account, operation, key)
    const [row] = world.database.rows<{ charged: bigint; own: bigint }>(
      `SELECT coalesce(sum(charged), 0) AS charged, coalesce(sum(iif(id LIKE ?, charged, 0)), 0) AS own
        FROM (SELECT id, CASE kind WHEN 'CHARGE' THEN amount WHEN 'WRITE_OFF' THEN -amount ELSE 0 END AS charged
          FROM entry WHERE request = (SELECT request FROM claim WHERE id = ?))`,
      `${world.units.answeredBy.get(claim)}/%`,
      claim,
    )
    const others = (row?.charged ?? 0n) - (row?.own ?? 0n)
    if (row?.own === 0n && cost === 0n && others > 0n)
      world.sometimes.reached('work under a key was paid for by an earlier attempt')
    else if (row?.own !== cost || others !== 0n)
      world.broken(`The work under key ${key} was told to cost ${cost} and was charged ${row?.charged}.`)
  }
}

/** States that only the ledger shows. */
function noteLedger({ database, sometimes }: World): void {
  const shown: [InterestingState, string][] = [
    ['staking credit paid for a call', `SELECT 1 FROM entry WHERE kind = 'STAKING' AND debit = 'system:staking'`],
    ['staking credit was given back', `SELECT 1 FROM entry WHERE kind = 'STAKING' AND credit = 'system:staking'`],
    ['a key began a new period of its budget', 'SELECT 1 FROM key_use GROUP BY key, period HAVING count(*) > 1'],
    [
      'a charge was paid with staking credit and USD together',
      `SELECT 1 FROM entry s JOIN entry c ON c.request = s.request AND c.kind = 'CHARGE'
        WHERE s.kind = 'STAKING' GROUP BY s.request HAVING sum(c.amount) > min(s.amount)`,
    ],
  ]
  for (const [state, sql] of shown) if (database.rows(`${sql} LIMIT 1`).length) sometimes.reached(state)
}
