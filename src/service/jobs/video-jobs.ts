import type { Clock } from '#contract/clock.ts'
import { inferenceFailed, mediaNotFound, providerContentPolicy, requestIdNotFound } from '#contract/errors.ts'
import { downloadUrlMs } from '#contract/limits.ts'
import { holdLeaseMs } from '../ledger/bounds.ts'
import { availableOf, InsufficientCredit } from '../ledger/charge.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { Catalogue } from '../models/catalogue.ts'
import type { AcceptedJob, JobOrder, JobRequest, Jobs, MediaFile, RetrievedJob } from '../service.ts'
import { commitSurely } from '../store/commit-surely.ts'
import type { Store } from '../store/store.ts'
import type { Op } from '../store/units.ts'
import { deleteMedia } from './delete-media.ts'
import type { DownloadLinks } from './download-link.ts'
import { type JobRow, jobFailure, jobResult, mediaName } from './job-row.ts'
import { typicalMs } from './typical-time.ts'

const jobIdPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export interface VideoJobsOptions {
  store: Store
  clock: Clock
  catalogue: Catalogue
  media: MediaStore
  links: DownloadLinks
  owner: string
  /** Told of every accepted job, so that nobody waits for the next search of the table. */
  onAccepted: (jobId: string) => void
}

/** Queued videos as their owners see them. A job's id is the id of the request that queued it. */
export class VideoJobs implements Jobs {
  readonly #options: VideoJobsOptions

  constructor(options: VideoJobsOptions) {
    this.#options = options
  }

  /** One unit: the charge and the job exist together or not at all. Throws `InsufficientCredit`. */
  async accept(order: JobOrder): Promise<AcceptedJob> {
    const { store, clock } = this.#options
    const atMs = clock.now()
    const outcome = await commitSurely(store, {
      id: `${order.requestId}/accept`,
      ops: this.#acceptOps(order, atMs),
    })
    if (!outcome.ok) {
      const { why } = outcome
      if (why === 'insufficient_funds' || why === 'no_account') throw new InsufficientCredit(order.price.total)
      throw new Error(`The ledger refused job ${order.requestId}: ${why}.`)
    }
    this.#options.onAccepted(order.requestId)
    return {
      jobId: order.requestId,
      availableMicroUsd: availableOf(outcome.balances, order.account),
      downloadUrl: order.model.delivery === 'download_url' ? this.#downloadUrl(order.requestId, atMs) : null,
    }
  }

  #acceptOps(order: JobOrder, atMs: number): Op[] {
    const { requestId, account, model, price } = order
    const lease = { owner: this.#options.owner, untilMs: atMs + holdLeaseMs }
    return [
      { op: 'hold', hold: requestId, account, amount: price.total, lease, atMs },
      { op: 'capture', hold: requestId, request: requestId, model: model.id, lines: price.lines, atMs },
      {
        op: 'job',
        job: requestId,
        from: null,
        to: 'queued',
        fence: 0,
        set: {
          account,
          model: model.id,
          request: requestId,
          input: JSON.stringify(order.request),
        },
        atMs,
      },
    ]
  }

  #downloadUrl(jobId: string, atMs: number): string {
    return this.#options.links.url({ jobId, expiresAtMs: atMs + downloadUrlMs })
  }

  async retrieve(request: JobRequest): Promise<RetrievedJob> {
    const row = await this.#find(request)
    if (row.state === 'failed') throw whyFailed(row)
    if (row.state === 'deleted') throw mediaNotFound()
    const finished = row.state === 'completed'
    if (finished && jobResult(row)?.delivery === 'inline') return this.#file(row)
    const untilMs = finished ? row.updated_at_ms : this.#options.clock.now()
    return {
      state: 'status',
      status: {
        status: finished ? 'COMPLETED' : 'PROCESSING',
        average_execution_time: await typicalMs(this.#options.store, row.model),
        execution_duration: Math.max(0, untilMs - row.created_at_ms),
      },
    }
  }

  async #file(row: JobRow): Promise<RetrievedJob> {
    const file = await this.#media(row)
    if (!file) throw mediaNotFound()
    return { state: 'file', ...file }
  }

  async #media(row: JobRow): Promise<MediaFile | null> {
    const result = jobResult(row)
    const stored = await this.#options.media.find(mediaName(row.id))
    return stored && result ? { ...stored, mimeType: result.mimeType } : null
  }

  /** False while there is nothing to delete yet. */
  async complete(request: JobRequest): Promise<boolean> {
    return this.#delete(await this.#find(request))
  }

  async openMedia(jobId: string): Promise<MediaFile | 'deleted' | null> {
    const row = await this.#row(jobId)
    if (row?.state === 'deleted') return 'deleted'
    return row?.state === 'completed' ? this.#media(row) : null
  }

  async revoke(jobId: string): Promise<boolean> {
    const row = await this.#row(jobId)
    return row ? this.#delete(row) : false
  }

  async #delete(row: JobRow): Promise<boolean> {
    if (row.state !== 'completed' && row.state !== 'deleted') return false
    await deleteMedia(row, this.#options)
    return true
  }

  /** Somebody else's job is answered as one that does not exist. */
  async #find({ account, jobId, model }: JobRequest): Promise<JobRow> {
    const row = await this.#row(jobId)
    if (!row || row.account !== account || row.model !== model) throw requestIdNotFound()
    return row
  }

  async #row(jobId: string): Promise<JobRow | undefined> {
    if (!jobIdPattern.test(jobId)) return undefined
    return this.#options.store.read
      .selectFrom('job')
      .selectAll()
      .where('id', '=', jobId.toLowerCase())
      .executeTakeFirst()
  }
}

/** The charge has been given back in the same unit that failed the job. */
function whyFailed(row: JobRow) {
  const failure = jobFailure(row)
  if (!failure?.contentPolicy) return inferenceFailed()
  return providerContentPolicy({
    error: { message: failure.reason, type: 'provider_content_policy', credits_refunded: true },
  })
}
