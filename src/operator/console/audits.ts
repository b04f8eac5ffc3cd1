import { minuteMs } from '#contract/time.ts'
import { PageRefusal } from '#host/pages/page-guards.ts'
import { TaskThread } from '#host/workers/task-thread.ts'
import { threadUrl } from '#host/workers/thread-entry.ts'
import type { AuditReport } from '#ledger/audit/audit.ts'
import { databasePlace } from '#ledger/store/open-store.ts'

export interface AuditTask {
  engine: 'sqlite' | 'postgres'
  /** The path or address of the ledger. */
  at: string
}

export type AuditAnswer = { report: AuditReport } | { failed: string }

/** An audit of ten million entries takes half of this. */
const auditMs = 10 * minuteMs

/** One audit runs and one waits for it; a third is refused. */
const waitingAudits = 2

/** Runs audits of the ledger on a separate thread. */
export class Audits {
  readonly #thread: TaskThread<AuditTask, AuditAnswer>
  readonly #task: AuditTask

  /** `database` is the configured address. */
  constructor(database: string) {
    const place = databasePlace(database)
    this.#task = { engine: place.engine, at: place.engine === 'sqlite' ? place.path : place.url }
    const url = threadUrl('audit-thread', import.meta.url)
    this.#thread = new TaskThread({ name: 'audit', url, timeoutMs: auditMs, waiting: waitingAudits })
  }

  async run(): Promise<AuditReport> {
    const answer = await this.#thread.run(this.#task)
    if ('report' in answer) return answer.report
    throw new PageRefusal(503, `The ledger could not be read (${answer.failed}).`, 'Run `farebox ledger audit`.')
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
