import type { AuditReader } from './audit-reader.ts'
import type { Findings } from './audit-report.ts'

/** Unit prices are in pico-USD. */
const picoPerMicro = 1_000_000n

/** A request is charged by one set of lines, numbered from 0, on one account; no other entry repeats a ref and line. */
export async function checkChargesOnce(reader: AuditReader, findings: Findings): Promise<void> {
  const requests = reader.rows<{ request: string | null; n: bigint }>(`
    SELECT request, count(*) AS n FROM entry WHERE kind = 'CHARGE' GROUP BY request
    HAVING count(*) <> count(DISTINCT line) OR max(line) <> count(*) - 1
      OR count(DISTINCT account) > 1 OR count(DISTINCT ref) > 1 OR count(DISTINCT created_at_ms) > 1`)
  for await (const { request, n } of requests) {
    const told = `Request ${request} has ${n} charged lines that are not one charge of one account.`
    findings.add('charged_twice', `${request}`, told)
  }
  const others = reader.rows<{ ref: string; n: bigint }>(
    `SELECT ref, count(*) AS n FROM entry WHERE kind <> 'CHARGE' GROUP BY ref HAVING count(*) > 1`,
  )
  for await (const { ref, n } of others)
    findings.add('charged_twice', ref, `${ref} was entered ${n} times; it may be entered once.`)
}

interface ChargedLine {
  id: string
  ref: string
  amount: bigint
  units: bigint | null
  price: bigint | null
}

/**
 * Each line is what the request's running total grows by, in whole micro-USD rounded up: a request is rounded once over
 * all its lines, not once a line.
 */
export async function checkCharges(reader: AuditReader, findings: Findings): Promise<void> {
  const lines = reader.rows<ChargedLine>(`
    SELECT id, ref, amount, units, unit_price_pico_usd AS price FROM entry WHERE kind = 'CHARGE' ORDER BY ref, line`)
  let ref = ''
  let picoUsd = 0n
  let expectedBefore = 0n
  for await (const line of lines) {
    if (line.ref !== ref) {
      ref = line.ref
      picoUsd = 0n
      expectedBefore = 0n
    }
    picoUsd += (line.units ?? 0n) * (line.price ?? 0n)
    const expectedTotal = picoUsd / picoPerMicro + (picoUsd % picoPerMicro === 0n ? 0n : 1n)
    const expected = expectedTotal - expectedBefore
    expectedBefore = expectedTotal
    if (line.amount !== expected) tellDifference(line, expected, findings)
  }
}

function tellDifference({ id, amount, units, price }: ChargedLine, expected: bigint, findings: Findings): void {
  const told = `Entry ${id} charged ${amount} micro-USD; ${units} units at ${price} pico-USD make ${expected}.`
  findings.add('charge_differs_from_price', id, told)
}
