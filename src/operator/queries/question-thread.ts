import { answerTasks } from '#host/workers/thread-entry.ts'
import { ledgerStateIn } from '#ledger/ledger-watch.ts'
import { awayReason, type Store } from '#ledger/store/store.ts'
import { OperatorRefused } from '../operator-refused.ts'
import { callOperator } from './call-operator.ts'
import { csvPage } from './entries.ts'
import type { OperatorContext } from './operator-context.ts'
import type { QuestionAnswer, QuestionTask } from './questions.ts'

type Read = Store['read']

/** PostgreSQL's error of a statement that its own time limit ended. */
const statementWasEnded = '57014'

/** The parts of one question run at once on this many connections; more would take the service's. */
const connections = 2
/** PostgreSQL ends a statement of an operator after so long. */
const statementMs = 15_000
/** A database that is away is told to the operator soon, whose page asks again by itself. */
const attempts = 3

let opened: Promise<Read> | null = null

async function open({ database: place, schema }: QuestionTask): Promise<Read> {
  if (place.engine === 'sqlite') {
    const { openSqliteReader } = await import('#ledger/store/sqlite/open.ts')
    return openSqliteReader(place.path)
  }
  const { openPostgresReader } = await import('#ledger/store/postgres/open.ts')
  const pool = { name: 'farebox operators', connections, statementMs, attempts }
  return openPostgresReader({ url: place.url, schema }, () => {}, pool)
}

async function answerOf(task: QuestionTask): Promise<unknown> {
  const { nowMs, asked } = task
  opened ??= open(task)
  const read = await opened
  // Only what reads need: acts are done where the ledger is written.
  const context: OperatorContext = {
    store: { read } as Store,
    clock: { now: () => nowMs },
    ledger: { state: () => ledgerStateIn(read) },
    ...('name' in asked ? { blocks: { blocked: () => asked.blocked, lift: async () => undefined } } : {}),
  }
  if ('name' in asked) return callOperator(context, asked.name, asked.input as never, '')
  return csvPage(context, asked.csv, asked.order as never)
}

answerTasks(async (task: QuestionTask): Promise<QuestionAnswer> => {
  try {
    return { answer: await answerOf(task) }
  } catch (error) {
    if (error instanceof OperatorRefused) return { refused: error.message }
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
    if (code === statementWasEnded) return { failed: 'late', code }
    return { failed: awayReason(error) === null ? 'broken' : 'away', code }
  }
})
