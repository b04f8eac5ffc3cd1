import type { ClientAnswer } from '#client/client.ts'
import type { AnswerHeaders } from '#client/wire/read-answer.ts'
import { addUsd, fromUsdNumber, isCredibleUsd, type MicroUsd, microUsd } from '#contract/money.ts'
import { ChatCompletion } from '#contract/operations/chat.ts'
import type { AnswerOf, Operation } from '#contract/operations/operation.ts'
import { withoutHidden } from '#toolkit/values/untrusted.ts'
import { readReceipt } from '#wallet/receipts.ts'
import { shownIdCharacters } from '../bounds.ts'
import { type MadeMedia, makesMedia } from '../media/made-media.ts'
import type { NewSavedFile, SavedFiles } from '../media/saved-files.ts'
import type { Receipts } from '../receipts/receipts.ts'
import type { Keep } from './paid-call.ts'
import type { PaidCallRow, PaidCallRows } from './paid-call-rows.ts'

interface Keeping {
  rows: PaidCallRows
  receipts: Receipts
  savedFiles: SavedFiles
}

/** The call that an answer belongs to, for the rows of its saved files. */
interface AnswerOrigin {
  /** As named in the call. */
  model: string
  tool: string | null
}

/** Stores a complete answer with its cost, the remaining credit, its files and its receipt. */
export const keepAnswer =
  <O extends Operation>({ rows, receipts, savedFiles }: Keeping, operation: O, origin: AnswerOrigin): Keep<O> =>
  (rowId, answer, price) => {
    const charged = chargedFor(answer)
    const kept = { answer: answer.answer, charged, creditLeft: creditLeft(answer, charged) }
    const made = makesMedia(operation) ? (answer.answer as MadeMedia) : null
    rows.answered(rowId, kept, db => {
      if (made) savedFiles.insert(db, filesOf(made, origin))
      return null
    })
    receipts.keep(rowId, operation, answer, price, { tool: origin.tool })
  }

function filesOf({ files, model }: MadeMedia, origin: AnswerOrigin): NewSavedFile[] {
  const shown = withoutHidden(model ?? origin.model).slice(0, shownIdCharacters) || null
  return files.map(file => ({ ...file, model: shown, tool: origin.tool }))
}

/** Returns the stored answer of an earlier call. */
export const keptAnswer = <O extends Operation>({ answer }: PaidCallRow): AnswerOf<O> =>
  JSON.parse(answer ?? 'null') as AnswerOf<O>

/**
 * Returns the charge that the service reports; if its answer has none, the difference in credit, or the amount on its
 * receipt.
 */
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
  // A replayed answer reports the current credit; the first one was charged earlier.
  if (isReplayed || balanceRemaining === null || balanceBefore === null) return null
  if (balanceRemaining > balanceBefore) return null
  return addUsd(balanceBefore, -balanceRemaining)
}

/** Returns the credit after the answer; `charged` is what it cost. */
export function creditLeft({ headers }: ClientAnswer<Operation>, charged: MicroUsd | null): MicroUsd | null {
  const { balanceRemaining, balanceBefore } = headers
  return balanceRemaining ?? (balanceBefore !== null && charged !== null ? addUsd(balanceBefore, -charged) : null)
}
