import { z } from 'zod'
import { lowered } from '#contract/errors/as-clause.ts'
import { zeroUsd } from '#contract/money.ts'
import type { JobView } from '../tool-context.ts'
import { sayCost } from '../tool-failure.ts'
import { isoTime, sayUsd, usd } from '../values/amounts.ts'
import { untrustedId } from '../values/untrusted.ts'
import { SavedFileOutput, saySaved, Usd } from './paid.ts'

/** A job as tools show it. */
export const JobOutput = z.object({
  job_id: z.string(),
  model: z.string(),
  state: z.enum(['running', 'completed', 'failed', 'deleted']),
  started_at: z.string(),
  /** Null while it is unknown, and for a job that has ended. */
  typical_seconds: z.number().nullable(),
  price_usd: Usd,
  refunded: z.boolean(),
  file: SavedFileOutput.nullable(),
  failure: z.string().nullable(),
})
export type JobOutput = z.output<typeof JobOutput>

export const jobOutput = (job: JobView): JobOutput => ({
  job_id: job.jobId,
  model: untrustedId(job.model),
  state: job.state,
  started_at: isoTime(job.startedAtMs),
  typical_seconds: job.typicalMs === null || job.state !== 'running' ? null : Math.round(job.typicalMs / 1000),
  price_usd: usd(job.priceMicroUsd),
  refunded: job.refunded,
  file: job.file && { path: job.file.path, mime_type: job.file.mimeType, bytes: job.file.bytes },
  failure: job.failure,
})

/** One or two sentences: the job's state and what to do next. */
function sayJob(job: JobOutput): string {
  switch (job.state) {
    case 'running':
      return `Job ${job.job_id} is still running${typically(job)}. Call job_wait with this id again.`
    case 'completed':
      return job.file
        ? `Job ${job.job_id} is done. ${saySaved(job.file)}`
        : `Job ${job.job_id} is done, but its result is not saved yet. Call job_wait with this id.`
    case 'failed':
      return sayFailed(job)
    case 'deleted':
      return `Job ${job.job_id} was deleted, with its file at the service.${job.file ? ` The saved file stays: ${job.file.path}.` : ''}`
  }
}

/** A line of a list, for a caller who may have lost track of the jobs. */
export function sayListedJob(job: JobOutput): string {
  return `${which(job)}: ${sayJob(job)}`
}

const which = ({ model, started_at, price_usd }: JobOutput): string =>
  `${model}, started ${started_at.slice(0, 16).replace('T', ' ')} UTC${price_usd === null ? '' : `, ${sayUsd(price_usd)}`}`

/** The service's text follows our own sentence, marked as untrusted. */
function sayFailed(job: JobOutput): string {
  const [reason = '', ...framed] = (job.failure ?? 'the reason is unknown.').split('\n')
  return [`Job ${job.job_id} failed: ${lowered(reason)} ${sayRefund(job)}`, ...framed].join('\n')
}

/** The state and the description of a job, for a caller who waits for it. */
export const sayWaitedJob = (job: JobOutput): string => `${sayJob(job)}\n${sayWhich(job)}`

/** The model that works on it, since when, and the price. */
export const sayWhich = (job: JobOutput): string => `Job of ${which(job)}.`

/** For the call that started the job. If the call was a repeated one, the job may be further along. */
export const sayStarted = (job: JobOutput, isEarlier: boolean): string =>
  job.state === 'running' && !isEarlier
    ? `Job ${job.job_id} is queued${typically(job)}. Call job_wait with this id.`
    : sayJob(job)

/** For a call that took longer than its caller could wait. */
export const sayBecameJob = ({ job_id }: Pick<JobOutput, 'job_id'>): string =>
  `The model is still working, and the call continues as job ${job_id}. Call job_wait with this id to get the answer and its cost; nothing is charged twice.`

export const filesOf = ({ file }: Pick<JobOutput, 'file'>): { path: string; mimeType: string }[] =>
  file ? [{ path: file.path, mimeType: file.mime_type }] : []

/** Returns the job that a call left running. */
export const runningJob = ({ state, job_id }: Pick<JobOutput, 'state' | 'job_id'>): string | null =>
  state === 'running' ? job_id : null

const typically = ({ typical_seconds }: JobOutput): string =>
  typical_seconds === null ? '' : `; such jobs take about ${typical_seconds} s`

function sayRefund({ refunded, price_usd }: JobOutput): string {
  if (refunded) return `Its price, ${sayUsd(price_usd)}, was refunded.`
  if (price_usd === null) return sayCost('unknown')
  return price_usd === 0 ? sayCost(zeroUsd) : 'No refund is known yet; wallet_status shows the credit.'
}
