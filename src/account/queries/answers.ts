import { invoice, invoices } from './invoices.ts'
import { keys } from './keys.ts'
import { holds, request, requests } from './requests.ts'
import { type Reading, spend } from './sums.ts'

/** Every query of the page to the ledger. The scope of each comes from the session. */
const answers = { spend, requests, request, holds, keys, invoices, invoice }

export type QueryName = keyof typeof answers
export type Query<Name extends QueryName> = Parameters<(typeof answers)[Name]>[1]
export type Answer<Name extends QueryName> = Awaited<ReturnType<(typeof answers)[Name]>>

export type Ask = <Name extends QueryName>(name: Name, query: Query<Name>) => Promise<Answer<Name>>

export const answer = <Name extends QueryName>(
  reading: Reading,
  name: Name,
  query: Query<Name>,
  nowMs: number,
): Promise<Answer<Name>> => answers[name](reading, query as never, nowMs) as Promise<Answer<Name>>
