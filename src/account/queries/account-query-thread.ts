import { answerQueries } from '#ledger/store/query-thread.ts'
import type { AskedQuery } from './account-queries.ts'
import { answer, type Query, type QueryName } from './answers.ts'

answerQueries('farebox accounts', (read, { name, query }: AskedQuery, nowMs) =>
  answer({ read }, name, query as Query<QueryName>, nowMs),
)
