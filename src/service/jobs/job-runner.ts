import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '#contract/clock.ts'
import type { VideoProgress } from '../engines/engine.ts'
import { commitSurely } from '../ledger/charge.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { Catalogue } from '../models/catalogue.ts'
import type { Log } from '../service.ts'
import type { Store } from '../store/store.ts'
import type { JobFields, JobState, Op } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import {
  jobLeaseMs,
  jobRenewalMs,
  jobsAtOnce,
  longestJobMs,
  pollFirstMs,
  pollGrowth,
  pollMostMs,
  searchIntervalMs,
} from './bounds.ts'
import { type JobFailure, type JobRow, jobEngineState, jobInput, mediaName } from './job-row.ts'

export interface JobRunnerOptions {
  store: Store
  clock: Clock
  catalogue: Catalogue
  media: MediaStore
  log: Log
  owner: string
}

/** The row that this process holds moved under it: another one took it over after a pause of ours. */
class LeaseLost extends Error {}

/** Follows queued jobs to their end. Several processes may run one each: a lease says whose a job is, a fence that it still is. */
export class JobRunner {
  readonly #options: JobRunnerOptions
  readonly #following = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()
  #search: NodeJS.Timeout | null = null

  constructor(options: JobRunnerOptions) {
    this.#options = options
  }

  start(): void {
    this.#search ??= setInterval(() => this.nudge(), searchIntervalMs).unref()
    this.nudge()
  }

  /** Looks for work now. */
  nudge(): void {
    if (this.#stopping.signal.aborted) return
    this.#claimDue().catch(error => this.#options.log.error({ err: error }, 'Looking for queued jobs failed.'))
  }

  /** Leaves running jobs to their leases: the engine's work goes on, and the next start finds it. */
  async stop(): Promise<void> {
    if (this.#search) clearInterval(this.#search)
    this.#stopping.abort()
    await Promise.allSettled(this.#following.values())
  }

  async #claimDue(): Promise<void> {
    const room = jobsAtOnce - this.#following.size
    if (room <= 0) return
    const { store, clock, owner } = this.#options
    const due = await store.read
      .selectFrom('job')
      .selectAll()
      .where('state', 'in', ['queued', 'running'])
      .where(where => where.or([where('lease_until_ms', 'is', null), where('lease_until_ms', '<', clock.now())]))
      .orderBy('id')
      .limit(room)
      .execute()
    for (const row of due) {
      if (this.#following.has(row.id)) continue
      const job = new HeldJob(row, store, clock, owner)
      this.#following.set(
        row.id,
        this.#follow(job).finally(() => this.#following.delete(row.id)),
      )
    }
  }

  async #follow(job: HeldJob): Promise<void> {
    try {
      if (!(await job.claim())) return
      await this.#untilVerdict(job)
    } catch (error) {
      if (this.#stopping.signal.aborted || error instanceof LeaseLost) return
      this.#options.log.error(
        { jobId: job.id, err: error },
        'A job could not be followed; it is taken up again when its lease ends.',
      )
    }
  }

  async #untilVerdict(job: HeldJob): Promise<void> {
    const { signal } = this.#stopping
    for (let waitMs = pollFirstMs; ; waitMs = Math.min(waitMs * pollGrowth, pollMostMs)) {
      const progress = await this.#look(job)
      if (progress.state === 'completed') return this.#finish(job, progress)
      if (progress.state === 'failed') {
        return job.fail({ reason: progress.reason, contentPolicy: progress.contentPolicy === true })
      }
      await job.keep(progress.engineState)
      await sleep(waitMs, undefined, { signal })
    }
  }

  /** An engine that throws gave no verdict; only a job's greatest age turns that into a failure. */
  async #look(job: HeldJob): Promise<VideoProgress> {
    const { catalogue, media, clock, log } = this.#options
    const stored = await media.find(mediaName(job.id))
    if (stored) return { state: 'completed', path: stored.path, mimeType: 'video/mp4' }
    if (clock.now() - job.createdAtMs > longestJobMs) {
      return { state: 'failed', reason: 'The engine gave no verdict in time.' }
    }
    try {
      const model = catalogue.video(job.model)
      const call = {
        request: job.input,
        engineModel: model.engineModel,
        jobId: job.id,
        signal: this.#stopping.signal,
      }
      return job.engineState ? await model.engine.poll(call, job.engineState) : await model.engine.start(call)
    } catch (error) {
      if (this.#stopping.signal.aborted) throw error
      log.warn({ jobId: job.id, err: error }, 'An engine could not be asked after a job; it is asked again.')
      return { state: 'running', engineState: job.engineState ?? {} }
    }
  }

  async #finish(job: HeldJob, progress: { path: string; mimeType: string }): Promise<void> {
    const name = mediaName(job.id)
    const stored = (await this.#options.media.find(name)) ?? (await this.#options.media.take(progress.path, name))
    await job.move('completed', {
      result: JSON.stringify({ name, bytes: stored.bytes, mimeType: progress.mimeType }),
      lease: null,
    })
  }
}

/** One job under this process's lease. Every move names the fence it saw, so a move after losing the lease is refused. */
class HeldJob {
  readonly id: string
  readonly model: string
  readonly createdAtMs: number
  readonly input: ReturnType<typeof jobInput>
  readonly #request: string
  readonly #store: Store
  readonly #clock: Clock
  readonly #owner: string
  #state: JobState
  #fence: number
  #leaseUntilMs = 0
  engineState: ReturnType<typeof jobEngineState>

  constructor(row: JobRow, store: Store, clock: Clock, owner: string) {
    this.id = row.id
    this.model = row.model
    this.createdAtMs = row.created_at_ms
    this.input = jobInput(row)
    this.engineState = jobEngineState(row)
    this.#request = row.request
    this.#state = row.state
    this.#fence = row.fence
    this.#store = store
    this.#clock = clock
    this.#owner = owner
  }

  /** False when another process was faster. */
  async claim(): Promise<boolean> {
    return this.move('running', { lease: this.#newLease() }).then(
      () => true,
      error => {
        if (error instanceof LeaseLost) return false
        throw error
      },
    )
  }

  /** Writes only what has changed, or a lease that is growing old. */
  async keep(engineState: Record<string, unknown>): Promise<void> {
    const changed = JSON.stringify(engineState) !== JSON.stringify(this.engineState)
    const old = this.#leaseUntilMs - this.#clock.now() < jobLeaseMs - jobRenewalMs
    if (!changed && !old) return
    this.engineState = engineState
    await this.move('running', { engineState: JSON.stringify(engineState), lease: this.#newLease() })
  }

  /** The verdict and the money are one unit. */
  fail(failure: JobFailure): Promise<void> {
    const refund: Op = { op: 'refund', request: this.#request, reason: failure.reason, atMs: this.#clock.now() }
    return this.move('failed', { failure: JSON.stringify(failure), lease: null }, [refund])
  }

  async move(to: JobState, set: JobFields, beside: readonly Op[] = []): Promise<void> {
    const atMs = this.#clock.now()
    const move: Op = { op: 'job', job: this.id, from: this.#state, to, fence: this.#fence, set, atMs }
    const outcome = await commitSurely(this.#store, { id: `${uuidV7(atMs)}/job`, ops: [move, ...beside] })
    if (!outcome.ok) throw new LeaseLost(`Job ${this.id}: ${outcome.why}.`)
    this.#state = to
    this.#fence += 1
  }

  #newLease() {
    this.#leaseUntilMs = this.#clock.now() + jobLeaseMs
    return { owner: this.#owner, untilMs: this.#leaseUntilMs }
  }
}
