import { createChatCompletion } from '#contract/operations/chat.ts'
import { claimId } from '#service/http/idempotency/kept-answer.ts'
import type { Book } from '../book.ts'
import type { Findings } from './findings.ts'
import type { LedgerRows } from './ledger-rows.ts'

/** The requests that the calls of the book were taken up as: of each call one, whoever asked and however often. */
export function keyedRequests({ keyed, keyedCaller }: Book, { claims }: LedgerRows): Set<string> {
  const rows = keyedCaller
    ? keyed.map(({ key }) => claims.get(claimId(keyedCaller.account, createChatCompletion, key)))
    : []
  return new Set(rows.flatMap(row => (row ? [row.request] : [])))
}

/** Each call under a key that was answered is charged once, with what the answer told; and nobody is charged beside it. */
export function checkKeyed(book: Book, rows: LedgerRows, findings: Findings): void {
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
