import { ledgerStateIn } from '#ledger/ledger-watch.ts'
import { answerQueries } from '#ledger/store/query-thread.ts'
import type { Store } from '#ledger/store/store.ts'
import { OperatorRefused } from '../operator-refused.ts'
import { callOperator } from './call-operator.ts'
import { csvPage } from './entries.ts'
import type { OperatorContext } from './operator-context.ts'
import type { AskedOfOperator, OperatorQueryAnswer } from './operator-queries.ts'

function answerOf(read: Store['read'], asked: AskedOfOperator, nowMs: number): Promise<unknown> {
  // Only the parts that queries need, because actions run where the ledger is written.
  const context: OperatorContext = {
    store: { read } as Store,
    clock: { now: () => nowMs },
    ledger: { state: () => ledgerStateIn(read) },
    ...('name' in asked ? { blocks: { blocked: () => asked.blocked, lift: async () => undefined } } : {}),
  }
  if ('name' in asked) return callOperator(context, asked.name, asked.input as never, '')
  return csvPage(context, asked.csv, asked.order as never)
}

answerQueries('farebox operators', async (read, asked: AskedOfOperator, nowMs): Promise<OperatorQueryAnswer> => {
  try {
    return { answer: await answerOf(read, asked, nowMs) }
  } catch (error) {
    if (error instanceof OperatorRefused) return { refused: error.message }
    throw error
  }
})
