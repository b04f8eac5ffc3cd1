import type { LoadRecords } from '../load-records.ts'
import type { Findings } from './findings.ts'
import type { LedgerRows } from './ledger-rows.ts'

/** Of a token of the model that streams, in millionths of a micro-USD. */
export interface TokenPrice {
  inputPicoUsd: bigint
  outputPicoUsd: bigint
}

/**
 * A hold that a kill left is charged what its last checkpoint said, or nothing without one. Where nobody else writes, the
 * next start has ended them all before it serves.
 */
export function checkDeadHolds(book: LoadRecords, rows: LedgerRows, areShared: boolean, findings: Findings): void {
  const open = new Set(rows.holds.map(({ id }) => id))
  for (const [id, { request, heldMicroUsd, owedMicroUsd, chargedMicroUsd }] of book.deadHolds) {
    if (open.has(id)) {
      if (!areShared) findings.fail(`Hold ${id} of a killed process is still open after the next start.`)
      continue
    }
    const charged = rows.charges.get(request)?.amount ?? 0n
    // What a call under a key had not written down is done again, and then costs what the answer says.
    if (owedMicroUsd === null && !book.broken.has(request)) continue
    const due = chargedMicroUsd > 0n ? chargedMicroUsd : (owedMicroUsd ?? 0n)
    if (charged === due) continue
    const sentence = `Request ${request} owed ${due} micro-USD by its last checkpoint, and recovery charged ${charged} of a hold of ${heldMicroUsd}.`
    findings.lose(charged - due, sentence)
  }
}

/** By what its reader saw: a broken stream costs at least what was delivered well before, and at most what can have been made. */
export function checkBroken(book: LoadRecords, rows: LedgerRows, price: TokenPrice, findings: Findings): void {
  const open = new Set(rows.holds.map(({ id }) => id))
  for (const [request, { leastTokens, mostTokens, bodyBytes }] of book.broken) {
    if (open.has(request)) continue
    const charged = rows.charges.get(request)?.amount ?? 0n
    const least = (BigInt(leastTokens) * price.outputPicoUsd) / picoPerMicro
    const most = (BigInt(mostTokens) * price.outputPicoUsd + BigInt(bodyBytes) * price.inputPicoUsd) / picoPerMicro + 1n
    const delivered = `Broken stream ${request} was charged ${charged} micro-USD`
    if (charged < least) findings.lose(least - charged, `${delivered}; what was delivered well before costs ${least}.`)
    if (charged > most) findings.lose(charged - most, `${delivered}; what was made costs ${most} at most.`)
  }
}

const picoPerMicro = 1_000_000n

/** Charges that recovery has made of checkpoints, and all charges of this run. */
export function recoveredShare(book: LoadRecords, rows: LedgerRows, earlier: ReadonlySet<string>): [number, number] {
  const all = [...rows.charges.keys()].filter(request => !earlier.has(request)).length
  const recovered = [...book.deadHolds.values()].filter(
    ({ request, owedMicroUsd, chargedMicroUsd }) =>
      owedMicroUsd !== null && chargedMicroUsd === 0n && rows.charges.has(request),
  )
  return [new Set(recovered.map(({ request }) => request)).size, all]
}
