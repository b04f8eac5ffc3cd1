import type { Client, OpenedAnswer } from '#client/client.ts'
import { ClientError } from '#client/client-error.ts'
import { type Downloaded, type DownloadOptions, download, saveBody } from '#client/download/download.ts'
import { retryAtMs } from '#client/retry/retry.ts'
import { ProviderContentPolicy } from '#contract/errors/failures.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { zeroUsd } from '#contract/money.ts'
import { completeAudio, retrieveAudio } from '#contract/operations/audio.ts'
import { completeVideo, retrieveVideo, type VideoStatus } from '#contract/operations/video.ts'
import { getWalletTransactions } from '#contract/operations/wallet.ts'
import type { SniffedType } from '#contract/wire/media-type.ts'
import type { JobStore, JobView } from '#toolkit/tool-context.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import type { Invocation } from '#toolkit/tool-host.ts'
import { untrustedId } from '#toolkit/values/untrusted.ts'
import { jobFaults, pollMs, savingLeaseMs } from '../bounds.ts'
import { isTransient } from '../calls/lost-call.ts'
import type { AgentContext } from '../context.ts'
import { type Files, freePath, inFolder } from '../media/files.ts'
import type { CallJobs } from './call-jobs.ts'
import { isQueued, type JobRow, type JobRows, jobView, type QueuedJobRow, type SavedMedia } from './job-rows.ts'

export type Waiting = Required<Omit<Invocation, 'called' | 'waits' | 'shows'>>

export interface JobContext extends AgentContext {
  files: Files
  jobRows: JobRows
  callJobs: CallJobs
}

export class Jobs implements JobStore {
  readonly #agent: JobContext
  readonly #rows: JobRows
  readonly #calls: CallJobs
  readonly #waiting: Waiting
  readonly #deliver: (job: JobRow) => Promise<never>

  /** `deliver` throws the result of a finished call in the form of the called tool. */
  constructor(agent: JobContext, waiting: Waiting, deliver: (job: JobRow) => Promise<never>) {
    this.#agent = agent
    this.#rows = agent.jobRows
    this.#calls = agent.callJobs
    this.#waiting = waiting
    this.#deliver = deliver
  }

  async list(limit: number): Promise<JobView[]> {
    return this.#rows.list(limit).map(jobView)
  }

  async wait(jobId: string, timeoutMs: number): Promise<JobView> {
    if (!isQueued(this.#own(jobId))) {
      const job = await this.#calls.follow(jobId, timeoutMs, this.#waiting)
      return job.state === 'completed' ? this.#deliver(job) : jobView(job)
    }
    const { clock, pause } = this.#agent
    const endMs = clock.now() + timeoutMs
    let pauseMs: number = pollMs.first
    let faults = 0
    for (;;) {
      this.#waiting.signal.throwIfAborted()
      const nextAtMs = await this.#ask(this.#own(jobId), () => ++faults)
      const job = this.#own(jobId)
      if (job.state !== 'running') return this.#delivered(job)
      const untilMs = Math.max(nextAtMs ?? 0, clock.now() + pauseMs)
      if (untilMs >= endMs) return jobView(job)
      await pause(untilMs - clock.now(), this.#waiting.signal)
      pauseMs = Math.min(pollMs.most, pauseMs * pollMs.growth)
    }
  }

  async delete(jobId: string): Promise<JobView> {
    const found = this.#own(jobId)
    if (!isQueued(found)) throw keepsNothing()
    await this.#ask(found, () => jobFaults + 1)
    const job = this.#own(jobId)
    if (job.state === 'running') throw stillRuns()
    if (job.state === 'completed' && isQueued(job)) {
      await forgetMedia(this.#agent.client, job, this.#waiting.signal)
      this.#rows.deleted(jobId)
    }
    return jobView(this.#own(jobId))
  }

  /** Returns a job that we started; jobs at other services are unknown here. */
  #own(jobId: string): JobRow {
    const job = this.#rows.find(jobId)
    if (job && job.service === this.#agent.client.address.baseUrl) return job
    throw new ToolFailure({
      happened: job ? 'This job belongs to a different service than the configured one.' : 'No job has this id.',
      charged: zeroUsd,
      next: 'job_list shows the ids.',
    })
  }

  #delivered(job: JobRow): JobView {
    if (job.file && !this.#waiting.signal.aborted) this.#waiting.whenDelivered(() => this.#rows.delivered(job.jobId))
    return jobView(job)
  }

  /** Polls the service once. Returns the time before which another poll is useless, if the service gave one. */
  async #ask(job: JobRow, countFault: () => number): Promise<number | null> {
    if (job.state !== 'running' || !isQueued(job)) return null
    try {
      const { signal } = this.#waiting
      const answer = await this.#agent.client.open(retrieving[job.kind], queued(job), { signal, attempts: 1 })
      if (answer.kind === 'json' && answer.answer.status === 'PROCESSING') this.#progress(job, answer.answer)
      else await this.#save(job, answer)
      return null
    } catch (error) {
      this.#waiting.signal.throwIfAborted()
      if (await this.#end(job, error)) return null
      const nowMs = this.#agent.clock.now()
      if (isTransient(error) && countFault() <= jobFaults) return retryAtMs(error, nowMs)
      throw error
    }
  }

  #progress(job: JobRow, { average_execution_time: typicalMs, execution_duration: runMs }: VideoStatus): void {
    if (typicalMs > 0) this.#rows.typical(job.jobId, typicalMs)
    const done = Math.round(runMs / 1_000)
    this.#waiting.report({
      message: `${untrustedId(job.model)}: ${Math.round(runMs / 1_000)} s${typicalMs > 0 ? ` of about ${Math.round(typicalMs / 1_000)} s` : ''}`,
      ...(typicalMs > 0 ? { done, total: Math.max(done, Math.round(typicalMs / 1_000)) } : {}),
    })
  }

  async #save(job: QueuedJobRow, answer: Parameters<typeof saveJobMedia>[3]): Promise<void> {
    if (!this.#rows.takeSaving(job.jobId)) {
      if (answer.kind === 'bytes') answer.response.discard()
      return
    }
    try {
      this.#waiting.report({ message: `${untrustedId(job.model)}: done, saving` })
      const { client, files, clock } = this.#agent
      let keptAtMs = clock.now()
      const onBytes: Saving['onBytes'] = (bytes, totalBytes) => {
        this.#waiting.report(savingStep(job, bytes, totalBytes))
        if (clock.now() - keptAtMs < savingLeaseMs / 2) return
        keptAtMs = clock.now()
        this.#rows.keepSaving(job.jobId)
      }
      const saved = await saveJobMedia(client, files, job, answer, { signal: this.#waiting.signal, onBytes })
      this.#rows.saved(job, saved)
    } catch (error) {
      this.#rows.leaveSaving(job.jobId)
      throw error
    }
  }

  /** Returns whether the error ends the job; then it is recorded in its row. */
  async #end(job: JobRow, error: unknown): Promise<boolean> {
    if (!(error instanceof ServiceError)) return false
    const end = endings[error.kind]
    if (!end) return false
    const [state, failure] = end
    const saysRefund = ProviderContentPolicy.safeParse(error.body).data?.error.credits_refunded === true
    const isRefunded = saysRefund || (state === 'failed' && (await wasRefunded(this.#agent, job.queueId)))
    this.#rows.ended(job.jobId, state, failure, isRefunded)
    return true
  }
}

/** Answers that end a job (brief §3.1: failure is not a state). */
const endings: Readonly<Record<string, readonly ['failed' | 'deleted', string]>> = {
  PROVIDER_CONTENT_POLICY: ['failed', "The provider's content policy refused it."],
  INFERENCE_FAILED: ['failed', 'The model failed.'],
  REQUEST_ID_NOT_FOUND: ['failed', 'The service no longer has this job.'],
  MEDIA_NOT_FOUND: ['deleted', 'Its file has expired or was deleted.'],
  MEDIA_GONE: ['deleted', 'Its file has expired or was deleted.'],
}

const retrieving = { video: retrieveVideo, audio: retrieveAudio } as const
const completing = { video: completeVideo, audio: completeAudio } as const

const queued = ({ model, queueId }: JobRow) => ({
  params: undefined,
  query: undefined,
  body: { model, queue_id: queueId },
})

/**
 * Deletes the result: a file that came from its own address is deleted there (brief §3.1), anything else through its
 * job, because an address from which no file came is only the service's claim. Throws if the file may still exist.
 */
async function forgetMedia(client: Client, job: QueuedJobRow, signal: AbortSignal): Promise<void> {
  if (job.downloadUrl === null || !job.isDownloaded) {
    const { answer } = await client.call(completing[job.kind], queued(job), { signal })
    if (!answer.success) throw notDeleted()
    return
  }
  const response = await client.download(job.downloadUrl, {}, { signal, method: 'DELETE' })
  response.discard()
  const isGone = response.status === 404 || response.status === 410
  if (!isGone && response.status >= 300) throw notDeleted()
}

const keepsNothing = (): ToolFailure =>
  new ToolFailure({
    happened: 'This job is a call, so the service stores no file of it. Its answer is kept here for at most a day.',
    charged: zeroUsd,
    next: 'There is nothing to delete; job_wait returns its answer.',
  })

const stillRuns = (): ToolFailure =>
  new ToolFailure({
    happened: 'The job is still running, and the service cannot stop it.',
    charged: zeroUsd,
    next: 'Call job_wait until it ends, then job_delete again.',
  })

const notDeleted = (): ToolFailure =>
  new ToolFailure({
    happened: 'The service did not confirm the deletion, so the file may still be there.',
    charged: zeroUsd,
    next: 'Call job_delete again in a minute.',
  })

/** Returns whether a wallet's own records show that a job was refunded; false if they cannot be read. */
async function wasRefunded({ client, wallet }: AgentContext, queueId: string): Promise<boolean> {
  if (!wallet) return false
  try {
    const call = { params: { walletAddress: await wallet.account() }, query: {}, body: undefined }
    const { answer } = await client.call(getWalletTransactions, call, { attempts: 1 })
    return answer.data.transactions.some(({ type, requestId }) => type === 'REFUND' && requestId === queueId)
  } catch {
    // Unknown counts as not refunded; the credit shows it in any case.
    return false
  }
}

/** Types that a service may send for a finished job. */
const jobTypes = {
  video: ['video/mp4'],
  audio: ['audio/mpeg', 'audio/wav', 'audio/flac'],
} as const

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1)

function savingStep({ model }: JobRow, bytes: number, totalBytes: number | null) {
  const saving = `${untrustedId(model)}: saving`
  if (totalBytes === null || totalBytes === 0) return { message: `${saving} ${megabytes(bytes)} MB` }
  const message = `${saving} ${megabytes(bytes)} of ${megabytes(totalBytes)} MB`
  return { message, done: bytes, total: totalBytes }
}

type Saving = Required<Pick<DownloadOptions, 'signal' | 'onBytes'>>

type Finished = OpenedAnswer<typeof retrieveVideo | typeof retrieveAudio>

/** Writes a finished job's result into the output folder under a name of ours; an existing file is never touched. */
async function saveJobMedia(
  client: Client,
  files: Files,
  job: QueuedJobRow,
  finished: Finished,
  saving: Saving,
): Promise<SavedMedia> {
  const folder = await files.outputFolder()
  const types: readonly SniffedType[] = jobTypes[job.kind]
  const said = finished.kind === 'bytes' ? types.find(type => type === finished.mimeType) : types[0]
  // Its first bytes must match that type too.
  const mimeType = said ?? jobTypes[job.kind][0]
  const madeBy = { startedAtMs: job.startedAtMs, model: job.model, id: job.jobId }
  const file = { path: freePath(folder, madeBy, mimeType), partPath: inFolder(folder, `.${job.jobId}.part`), mimeType }
  const { path, bytes, isDownloaded } = await write(client, job, finished, file, saving)
  return { file: { path, mimeType, bytes }, isDownloaded }
}

async function write(
  client: Client,
  job: JobRow,
  finished: Finished,
  file: Parameters<typeof saveBody>[1],
  saving: Saving,
): Promise<Downloaded & { isDownloaded: boolean }> {
  if (finished.kind === 'bytes') return { ...(await saveBody(finished.response, file, saving)), isDownloaded: false }
  if (job.downloadUrl === null) {
    const said = 'The service finished a job, but sent neither its file nor a link to it.'
    throw new ClientError('unreadable', said, { wasSent: true })
  }
  try {
    return { ...(await download(client, job.downloadUrl, file, saving)), isDownloaded: true }
  } catch (error) {
    if (!isOver(error)) throw error
    // A signed address may expire before its file is downloaded: the service is asked again, and may send the file
    // itself.
    const again = await askAgain(client, job, saving.signal)
    if (again.kind === 'bytes') return { ...(await saveBody(again.response, file, saving)), isDownloaded: false }
    throw error
  }
}

const isOver = (error: unknown): boolean =>
  error instanceof ServiceError && (error.status === 403 || error.status === 410)

const askAgain = (client: Client, { model, queueId }: JobRow, signal: AbortSignal): Promise<Finished> => {
  const body = { model, queue_id: queueId }
  return client.open(retrieveVideo, { params: undefined, query: undefined, body }, { signal, attempts: 1 })
}
