import type { Book } from '../book.ts'
import type { Findings } from './findings.ts'
import type { LedgerRows } from './ledger-rows.ts'

/** Every acknowledged video is there under its request; a charge and a job exist together or not at all. */
export function checkJobs(book: Book, rows: LedgerRows, findings: Findings): void {
  for (const [id, { requestId, completed }] of book.jobs) {
    const job = rows.jobs.get(id)
    if (!job) findings.fail(`Job ${id} was acknowledged, and there is none.`)
    else if (job.request !== requestId) findings.fail(`Job ${id} belongs to ${job.request}, not to ${requestId}.`)
    else if (completed && job.state !== 'completed')
      findings.fail(`Job ${id} was finished, and now it is ${job.state}.`)
  }
  for (const [id, { request }] of rows.jobs) {
    if (!rows.charges.has(request)) findings.fail(`Job ${id} has no charge.`)
  }
}

/** At the end each is completed, or failed and paid back whole. */
export function checkJobsEnded(rows: LedgerRows, findings: Findings): void {
  for (const [id, { state, request }] of rows.jobs) {
    const charged = rows.charges.get(request)?.amount ?? 0n
    const refunded = rows.refunds.get(request) ?? 0n
    if (state === 'queued' || state === 'running') findings.fail(`Job ${id} never ended; it is ${state}.`)
    if (state === 'failed' && refunded !== charged) {
      findings.lose(charged - refunded, `Job ${id} failed; it cost ${charged} and ${refunded} came back.`)
    }
    if (state === 'completed' && refunded !== 0n) findings.fail(`Job ${id} is completed, and ${refunded} came back.`)
  }
}
