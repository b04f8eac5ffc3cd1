import { invoice, invoices } from './invoices.ts'
import { keys } from './keys.ts'
import { holds, request, requests } from './requests.ts'
import { spend } from './spend.ts'
import type { Reading } from './sums.ts'

/** Every query of the page to the ledger. The scope of each comes from the session. */
const answers = { spend, requests, request, holds, keys, invoices, invoice }

export type QuestionName = keyof typeof answers
export type Question<Name extends QuestionName> = Parameters<(typeof answers)[Name]>[1]
export type Answer<Name extends QuestionName> = Awaited<ReturnType<(typeof answers)[Name]>>

export type Ask = <Name extends QuestionName>(name: Name, question: Question<Name>) => Promise<Answer<Name>>

export const answer = <Name extends QuestionName>(
  reading: Reading,
  name: Name,
  question: Question<Name>,
  nowMs: number,
): Promise<Answer<Name>> => answers[name](reading, question as never, nowMs) as Promise<Answer<Name>>
