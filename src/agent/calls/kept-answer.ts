import type { ClientAnswer } from '#client/client.ts'
import type { AnswerHeaders } from '#client/wire/answer-headers.ts'
import { ChatCompletion } from '#contract/chat-completion.ts'
import { addUsd, fromUsdNumber, isCredibleUsd, type MicroUsd, microUsd } from '#contract/money.ts'
import type { AnswerOf, Operation } from '#contract/operation.ts'
import { readReceipt } from '#wallet/receipts/verify-receipt.ts'
import type { ReceiptDesk } from '../receipts/receipt-desk.ts'
import type { Keep } from './paid-call.ts'
import type { PaidCallRow, PaidCallRows } from './paid-call-rows.ts'

/** How an answer that is whole is kept: with what it cost and what is left, and its receipt. */
export const keepAnswer =
  <O extends Operation>({ rows, receipts }: { rows: PaidCallRows; receipts: ReceiptDesk }, operation: O): Keep<O> =>
  (rowId, answer, price) => {
    const charged = chargedFor(answer)
    rows.answered(rowId, { answer: answer.answer, charged, creditLeft: creditLeft(answer, charged) })
    receipts.keep(rowId, operation, answer, price)
  }

/** The answer of an earlier call as it was kept. */
export const keptAnswer = <O extends Operation>({ answer }: PaidCallRow): AnswerOf<O> =>
  JSON.parse(answer ?? 'null') as AnswerOf<O>

/** What the service says it took; where its answer does not say, what the credit lost, or what its receipt says. */
export function chargedFor({ answer, headers }: ClientAnswer<Operation>): MicroUsd | null {
  const cost = ChatCompletion.safeParse(answer).data?.cost
  if (cost) return fromUsdNumber(cost.usd)
  return lostCredit(headers) ?? receiptAmount(headers)
}

function receiptAmount({ receipt }: AnswerHeaders): MicroUsd | null {
  const claims = receipt === null ? null : readReceipt(receipt)?.claims
  const amount = claims ? microUsd(BigInt(claims.amount_micro_usd)) : null
  return amount !== null && isCredibleUsd(amount) ? amount : null
}

function lostCredit({ balanceRemaining, balanceBefore, isReplayed }: AnswerHeaders): MicroUsd | null {
  // A repeated answer says what the credit is now; what the first one took was taken before.
  if (isReplayed || balanceRemaining === null || balanceBefore === null) return null
  if (balanceRemaining > balanceBefore) return null
  return addUsd(balanceBefore, -balanceRemaining)
}

/** What the credit was when the answer came; `charged` is what it took. */
export function creditLeft({ headers }: ClientAnswer<Operation>, charged: MicroUsd | null): MicroUsd | null {
  const { balanceRemaining, balanceBefore } = headers
  return balanceRemaining ?? (balanceBefore !== null && charged !== null ? addUsd(balanceBefore, -charged) : null)
}
