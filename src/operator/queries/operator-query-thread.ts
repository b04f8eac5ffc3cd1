import { answerTasks } from '#host/workers/thread-entry.ts'
import { ledgerStateIn } from '#ledger/ledger-watch.ts'
import { openReader } from '#ledger/store/open-store.ts'
import { awayReason, type Store } from '#ledger/store/store.ts'
import { OperatorRefused } from '../operator-refused.ts'
import { callOperator } from './call-operator.ts'
import { csvPage } from './entries.ts'
import type { OperatorContext } from './operator-context.ts'
import type { OperatorQueryAnswer, OperatorQueryTask } from './operator-queries.ts'

type Read = Store['read']

/** PostgreSQL's error code for a statement that exceeded its time limit. */
const statementWasEnded = '57014'

/** The parts of one query run on this many connections at once. More would reduce what the service has. */
const connections = 2
/** PostgreSQL ends an operator's statement after this time. */
const statementMs = 15_000
/** An unreachable database is reported soon, because the page retries automatically. */
const attempts = 3

const pool = { name: 'farebox operators', connections, statementMs, attempts }

let opened: Promise<Read> | null = null

async function answerOf(task: OperatorQueryTask): Promise<unknown> {
  const { nowMs, asked } = task
  opened ??= openReader(task.database, task.schema, pool)
  const read = await opened
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

answerTasks(async (task: OperatorQueryTask): Promise<OperatorQueryAnswer> => {
  try {
    return { answer: await answerOf(task) }
  } catch (error) {
    if (error instanceof OperatorRefused) return { refused: error.message }
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
    if (code === statementWasEnded) return { failed: 'late', code }
    return { failed: awayReason(error) === null ? 'broken' : 'away', code }
  }
})
