import {
  contentViolation,
  inferenceFailed,
  mediaNotFound,
  providerContentPolicy,
  requestIdNotFound,
} from '#contract/errors/errors.ts'
import { downloadUrlMs } from '#contract/limits.ts'
import type { Clock } from '#contract/time.ts'
import { availableOf } from '#ledger/accounts/balances.ts'
import { holdLeaseMs } from '#ledger/bounds.ts'
import { AlsoCommitRefused } from '#ledger/charges/charge-order.ts'
import { ChargeUnknown, type Funding } from '#ledger/charges/funding.ts'
import { commitSurely, type Outcome, type Store, StoreError } from '#ledger/store/store.ts'
import type { Op, Unit, UseNonce } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { MediaStore } from '#media/media-store.ts'
import type { Catalogue } from '../models/catalogue.ts'
import { type DownloadLinks, deleteMedia } from './finished-media.ts'
import {
  type AcceptedJob,
  type JobOrder,
  type JobRequest,
  type JobRow,
  type Jobs,
  jobFailure,
  jobResult,
  type MediaFile,
  mediaName,
  mediaRetentionMs,
  type QueuedJob,
  type RetrievedJob,
  timedJobs,
  typicalMsBeforeHistory,
} from './jobs.ts'

const jobIdPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

interface StoredJobsOptions {
  store: Store
  clock: Clock
  catalogue: Catalogue
  media: MediaStore
  links: DownloadLinks
  funding: Funding
  owner: string
  /** Called for every accepted job, so that it need not wait for the next search of the table. */
  onAccepted: (jobId: string) => void
}

/** Queued jobs as their owners see them. A job's id is the id of the request that queued it. */
export class StoredJobs implements Jobs {
  readonly #options: StoredJobsOptions
  readonly #wanted: WantedDeletions

  constructor(options: StoredJobsOptions) {
    this.#options = options
    this.#wanted = new WantedDeletions(options)
  }

  /**
   * In one unit of work: the charge, the job and the answer exist together or not at all. Throws like `Charges.open`,
   * and `AlsoCommitRefused`.
   */
  async accept(order: JobOrder): Promise<AcceptedJob> {
    const { store, clock, funding } = this.#options
    const atMs = clock.now()
    const queued: QueuedJob = {
      jobId: order.requestId,
      downloadUrl:
        order.model.type === 'video' && order.model.delivery === 'download_url'
          ? await this.#downloadUrl(order.requestId, atMs)
          : null,
    }
    const held = { hold: order.requestId, principal: order.principal, amount: order.price.total }
    const ops = [
      ...(await funding.holdOps(held, { owner: this.#options.owner, untilMs: atMs + holdLeaseMs })),
      ...acceptOps(order, atMs),
    ]
    const also = (await order.alsoCommit?.(queued)) ?? []
    const unit = { id: `${order.requestId}/accept`, ops: [...ops, ...also] }
    const outcome = await commitMarked(store, unit, order.marks ?? []).catch(error => {
      throw error instanceof StoreError && error.kind === 'outcome_unknown' ? new ChargeUnknown(error) : error
    })
    if (!outcome.ok) {
      const { why } = outcome
      if (outcome.op >= ops.length) throw new AlsoCommitRefused(why)
      throw await funding.refusal(held, why)
    }
    this.#options.onAccepted(order.requestId)
    return { ...queued, availableMicroUsd: availableOf(outcome.balances, order.principal.account) }
  }

  /** The bucket's address if the operator enabled that. A queued job already has its file's address. */
  async #downloadUrl(jobId: string, atMs: number): Promise<string> {
    const name = mediaName(jobId, 'video/mp4')
    const ofBucket = await this.#options.media.downloadUrl(name, { expiresInMs: downloadUrlMs, fileName: name })
    if (ofBucket !== null) return ofBucket
    return this.#options.links.url({ jobId, expiresAtMs: atMs + downloadUrlMs })
  }

  async retrieve(request: JobRequest): Promise<RetrievedJob> {
    const row = await this.#find(request)
    if (row.state === 'failed') throw whyFailed(row, request.type)
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
    const stored = result && (await this.#options.media.find(result.name))
    if (!stored) return null
    const { name, mimeType } = result
    return { name, mimeType, bytes: stored.bytes, read: part => this.#options.media.read(name, part) }
  }

  /** Returns false while there is nothing to delete yet. */
  async complete(request: JobRequest): Promise<boolean> {
    return this.#delete(await this.#find(request))
  }

  async deleteOnceDelivered(request: JobRequest): Promise<void> {
    await this.#wanted.add((await this.#find(request)).id)
  }

  async delivered(jobId: string): Promise<void> {
    if (await this.#wanted.has(jobId.toLowerCase())) await this.revoke(jobId)
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

  /** Another account's job is answered like a missing one. */
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

/** Commits a unit with marks after its operations. A mark that already exists is left out, because it is the same. */
async function commitMarked(store: Store, { id, ops }: Unit, marks: readonly UseNonce[]): Promise<Outcome> {
  const outcome = await commitSurely(store, { id, ops: [...ops, ...marks] })
  const there = outcome.ok ? -1 : outcome.op - ops.length
  return there < 0 ? outcome : commitMarked(store, { id, ops }, marks.toSpliced(there, 1))
}

function acceptOps({ requestId, principal, model, request, price }: JobOrder, atMs: number): Op[] {
  const set = { account: principal.account, model: model.id, request: requestId, input: JSON.stringify(request) }
  return [
    { op: 'capture', hold: requestId, request: requestId, model: model.id, lines: price.lines, atMs },
    { op: 'job', job: requestId, from: null, to: 'queued', fence: 0, set, atMs },
  ]
}

/** The unit that marked the job as failed also refunded the charge. Music has no member for that. */
function whyFailed(row: JobRow, type: JobRequest['type']) {
  const failure = jobFailure(row)
  if (!failure?.contentPolicy) return inferenceFailed()
  if (type === 'music') return contentViolation({ error: `${failure.reason} The charge was refunded.` })
  return providerContentPolicy({
    error: { message: failure.reason, type: 'provider_content_policy', credits_refunded: true },
  })
}

/** Returns the 80th percentile of a model's last jobs, in milliseconds (published contract §4.4). */
async function typicalMs(store: Store, model: string): Promise<number> {
  const rows = await store.read
    .selectFrom('job')
    .select(['created_at_ms', 'updated_at_ms'])
    .where('model', '=', model)
    .where('state', '=', 'completed')
    .orderBy('id', 'desc')
    .limit(timedJobs)
    .execute()
  const times = rows.map(row => row.updated_at_ms - row.created_at_ms).sort((a, b) => a - b)
  return times[Math.ceil(times.length * 0.8) - 1] ?? typicalMsBeforeHistory
}

/**
 * Jobs whose file is deleted once its download address has delivered it (`delete_media_on_completion`). Stored as a
 * nonce that expires with the file, which every process sees.
 */
class WantedDeletions {
  readonly #store: Store
  readonly #clock: Clock

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  async add(jobId: string): Promise<void> {
    if (await this.has(jobId)) return
    const atMs = this.#clock.now()
    // Refused if another retrieve was faster, in which case the entry exists anyway.
    await commitSurely(this.#store, {
      id: `${uuidV7(atMs)}/delivered`,
      ops: [{ op: 'nonce', key: keyOf(jobId), expiresAtMs: atMs + mediaRetentionMs }],
    })
  }

  async has(jobId: string): Promise<boolean> {
    const row = await this.#store.read
      .selectFrom('nonce')
      .select('id')
      .where('id', '=', keyOf(jobId))
      .executeTakeFirst()
    return row !== undefined
  }
}

const keyOf = (jobId: string): string => `delete-delivered:${jobId}`
