import { type Book, sumOf } from '../book.ts'
import { keyedRequests } from './check-keyed.ts'
import type { Findings } from './findings.ts'
import type { LedgerRows } from './ledger-rows.ts'

/** Every acknowledged charge stands with its exact amount, no request has two, and what was refused cost nothing. */
export function checkCharges(book: Book, rows: LedgerRows, findings: Findings): void {
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
export function checkStrangers(book: Book, rows: LedgerRows, earlier: ReadonlySet<string>, findings: Findings): void {
  // Whose request a keyed call was taken up as is known, whatever became of its answers.
  const keyed = keyedRequests(book, rows)
  const strangers = [...rows.charges.keys()].filter(
    request => !book.charges.has(request) && !book.open.has(request) && !keyed.has(request) && !earlier.has(request),
  )
  const unanswered = sumOf({ ...book.unanswered, 'keyed chat': 0, 'keyed stream': 0 })
  if (strangers.length <= unanswered) return
  findings.fail(`${strangers.length} charges belong to no request that was answered; ${unanswered} were lost.`)
}
