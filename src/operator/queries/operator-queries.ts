import type { Clock } from '#contract/time.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import { QueryThread } from '#ledger/store/query-thread.ts'
import { refuse } from '../operator-refused.ts'
import type { OperatedBlocks } from './operated-blocks.ts'
import { type AskedBeside, type CsvPage, type CsvTable, NotAnswered } from './operator-context.ts'
import type { OperatorAnswer, OperatorInput, OperatorOrder, OperatorRead } from './wire.ts'

export type AskedOfOperator =
  | { name: OperatorRead; input: unknown; blocked: Blocked }
  | { csv: CsvTable; order: unknown }

type Blocked = Awaited<ReturnType<OperatedBlocks['blocked']>>

/** A refusal is returned as data, because an exception would lose its kind on the way. */
export type OperatorQueryAnswer = { answer: unknown } | { refused: string }

/** More than two years of fifty models. */
const heapMb = 256

const busySeconds = 2
const lateSeconds = 10

/** Answers operators' queries. */
export class OperatorQueries extends QueryThread<AskedOfOperator> implements AskedBeside {
  /** `database` is the configured address. */
  constructor(database: string, at: { clock: Clock; schema?: string }) {
    super(database, at, {
      name: 'queries',
      url: threadUrl('operator-query-thread', import.meta.url),
      heapMb,
      busy: () =>
        new NotAnswered('Too many operators’ queries are waiting.', 'Try again in a few seconds.', busySeconds),
      late: cause =>
        new NotAnswered('This query takes too long.', 'Ask for fewer days, or for one customer.', lateSeconds, {
          cause,
        }),
      what: 'An operator’s query',
    })
  }

  async ask<Name extends OperatorRead>(
    name: Name,
    input: OperatorInput<Name>,
    blocks?: OperatedBlocks,
  ): Promise<OperatorAnswer<Name>> {
    const blocked = name === 'limits' ? ((await blocks?.blocked()) ?? []) : []
    return (await this.#run({ name, input, blocked })) as OperatorAnswer<Name>
  }

  csvPage<Name extends CsvTable>(csv: Name, order: OperatorOrder<Name>): Promise<CsvPage> {
    return this.#run({ csv, order }) as Promise<CsvPage>
  }

  async #run(asked: AskedOfOperator): Promise<unknown> {
    const answered = (await this.answerTo(asked)) as OperatorQueryAnswer
    if ('refused' in answered) throw refuse(answered.refused)
    return answered.answer
  }
}
