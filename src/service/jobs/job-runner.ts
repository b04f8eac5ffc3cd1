import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { AudioQueueRequest } from '#contract/operations/audio.ts'
import { VideoQueueRequest } from '#contract/operations/video.ts'
import type { Clock } from '#contract/time.ts'
import type { EngineState, JobProgress, MusicRequest } from '#engines/ports/media-engines.ts'
import { boundedWait, type InFlight } from '#host/async.ts'
import type { Log } from '#host/log.ts'
import { isClockShared, type Store } from '#ledger/store/store.ts'
import type { MediaStore } from '#media/media-store.ts'
import type { Catalogue } from '../models/catalogue.ts'
import type { MusicModel, VideoModel } from '../models/model.ts'
import { type FullPlaces, JobPlaces } from './job-places.ts'
import {
  claimedAtOnce,
  engineAnswerMs,
  type JobResult,
  jobRenewalMs,
  longestJobMs,
  mediaName,
  mediaNames,
  pollFirstMs,
  pollGrowth,
  pollMostMs,
  searchIntervalMs,
} from './jobs.ts'
import { freeDeadJobs, LeasedJob, LeaseLost, leasedColumns } from './lease.ts'

interface JobRunnerOptions {
  store: Store
  clock: Clock
  catalogue: Catalogue
  media: MediaStore
  log: Log
  owner: string
  inFlight: Pick<InFlight, 'begin'>
}

const unreadable = { state: 'failed', reason: 'The stored request can no longer be read.' } as const

/** The engine's progress, or that it has not started yet. */
type Look = Exclude<JobProgress, { state: 'running' }> | { state: 'running'; engineState: EngineState | null }

/** A finished file in the media store. */
type Stored = Pick<JobResult, 'name' | 'bytes' | 'mimeType'>

/**
 * Runs queued jobs to their end. Several processes may each have a runner: a lease decides which one has a job, and a
 * fence whether it still does.
 */
export class JobRunner {
  readonly #options: JobRunnerOptions
  readonly #places = new JobPlaces()
  readonly #following = new Set<Promise<void>>()
  /** The last reason for which each job could not be polled. */
  readonly #reported = new WeakMap<LeasedJob, string>()
  readonly #stopping = new AbortController()
  #search: NodeJS.Timeout | null = null

  constructor(options: JobRunnerOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    await freeDeadJobs(this.#options)
    this.#search ??= setInterval(() => this.nudge(), searchIntervalMs).unref()
    this.nudge()
  }

  /** Searches for work now. */
  nudge(): void {
    if (this.#stopping.signal.aborted) return
    this.#claimDue().catch(error => this.#options.log.error({ err: error }, 'Looking for queued jobs failed.'))
  }

  /** Leaves running jobs to their leases: the engine's work continues, and the next start finds it. */
  async stop(): Promise<void> {
    if (this.#search) clearInterval(this.#search)
    this.#stopping.abort()
    await Promise.allSettled(this.#following)
  }

  /** Searches again while there may be more: what had places for some of its jobs is left out then. */
  async #claimDue(): Promise<void> {
    const { store, clock, owner } = this.#options
    for (let isMore = true; isMore && !this.#stopping.signal.aborted; ) {
      const due = await dueJobs(store, clock.now(), this.#places.full)
      // After a clock jump, other processes' jobs may look abandoned, and their engines would be polled twice.
      const isOthers = (row: DueJob) => row.lease_owner !== null && row.lease_owner !== owner
      const mayTake = !due.some(isOthers) || (await isClockShared(store))
      const taken = due.filter(row => (mayTake || !isOthers(row)) && this.#begin(row))
      isMore = taken.length > 0 && due.length === claimedAtOnce
    }
  }

  /** Returns false if there is no place for the job, or it has one already. */
  #begin(row: DueJob): boolean {
    const { id, model, account, input_bytes: inputBytes } = row
    if (!this.#places.take({ id, model, account, inputBytes })) return false
    const { store, clock, owner } = this.#options
    const followed = this.#follow(new LeasedJob(row, store, clock, owner)).finally(() => {
      this.#places.leave(id)
      this.#following.delete(followed)
    })
    this.#following.add(followed)
    return true
  }

  async #follow(job: LeasedJob): Promise<void> {
    try {
      if (!(await job.claim())) return
      await this.#untilVerdict(job)
    } catch (error) {
      if (this.#stopping.signal.aborted || error instanceof LeaseLost) return
      this.#options.log.error(
        { jobId: job.id, err: error },
        'A job could not be polled; it is retried when its lease ends.',
      )
    }
  }

  async #untilVerdict(job: LeasedJob): Promise<void> {
    const { signal } = this.#stopping
    // A bucket may take longer than a lease, and another process would then start the job too.
    const left = await this.#leased(job, signal => boundedWait(this.#stored(job, signal), { signal }))
    if (left) return this.#finish(job, left)
    for (let waitMs = pollFirstMs; ; waitMs = Math.min(waitMs * pollGrowth, pollMostMs)) {
      const progress = await this.#look(job)
      if (progress.state === 'completed') {
        await this.#finish(job, await this.#taken(job, progress))
        return progress.release?.()
      }
      if (progress.state === 'failed') {
        return this.#fail(job, progress)
      }
      await job.keep(progress.engineState)
      await sleep(waitMs, undefined, { signal })
    }
  }

  /** A file that a process stored before it was killed. Its engine may no longer have it. */
  async #stored(job: LeasedJob, signal: AbortSignal): Promise<Stored | null> {
    try {
      for (const { name, mimeType } of mediaNames(job.id)) {
        const stored = await this.#options.media.find(name, signal)
        if (stored) return { name, mimeType, bytes: stored.bytes }
      }
    } catch (error) {
      signal.throwIfAborted()
      // It is unknown whether the file exists. The customer waits for it no longer than for an engine.
      if (!(await this.#isTooOld(job))) throw error
    }
    return null
  }

  async #isTooOld(job: LeasedJob): Promise<boolean> {
    const { clock, store } = this.#options
    return clock.now() - job.createdAtMs > longestJobMs && (await isClockShared(store))
  }

  /**
   * Renews the lease while the work runs, which may take longer. The signal ends the work when the service stops, and
   * when the lease is lost; if the store is only away, the next renewal may succeed.
   */
  async #leased<Value>(job: LeasedJob, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const lost = new AbortController()
    let renewed = Promise.resolve()
    const renew = () => {
      renewed = renewed
        .then(() => job.keep(null))
        .catch(error => {
          if (error instanceof LeaseLost) lost.abort(error)
        })
    }
    const renewal = setInterval(renew, jobRenewalMs).unref()
    try {
      return await work(AbortSignal.any([this.#stopping.signal, lost.signal]))
    } finally {
      clearInterval(renewal)
      await renewed
    }
  }

  /** Stores the engine's file. */
  async #taken(job: LeasedJob, { path, mimeType }: { path: string; mimeType: string }): Promise<Stored> {
    const name = mediaName(job.id, mimeType)
    const { bytes } = await this.#leased(job, signal => this.#options.media.take(path, name, { mimeType, signal }))
    return { name, mimeType, bytes }
  }

  /** If the engine throws, there is no result; only a job's maximum age turns that into a failure. */
  async #look(job: LeasedJob): Promise<Look> {
    const { catalogue } = this.#options
    if (await this.#isTooOld(job)) {
      return { state: 'failed', reason: 'The engine reported no outcome in time.' }
    }
    const input = await job.input()
    if (!input) return unreadable
    const left = new AbortController()
    const over = this.#options.inFlight.begin()
    try {
      return await this.#leased(job, async signal => {
        const asked = AbortSignal.any([signal, left.signal])
        const answer = engineAnswer(catalogue.ofJob(job.model), job, input, asked)
        return answer ? boundedWait(answer, { signal, timeoutMs: engineAnswerMs }) : unreadable
      })
    } catch (error) {
      // The engine will be polled again, so the abandoned poll must not continue beside it.
      left.abort(error)
      if (this.#stopping.signal.aborted || error instanceof LeaseLost) throw error
      this.#report(job, error)
      // Null if it has not started: then the next poll starts it, instead of polling for a job that does not exist.
      return { state: 'running', engineState: job.engineState }
    } finally {
      over()
    }
  }

  /** Once for each reason, because an engine may be away, or its model not configured, for a day. */
  #report(job: LeasedJob, error: unknown): void {
    const reason = String(error)
    if (this.#reported.get(job) === reason) return
    this.#reported.set(job, reason)
    const { id: jobId, model } = job
    this.#options.log.warn({ jobId, model, err: error }, 'An engine could not be polled for a job; it is polled again.')
  }

  async #fail(job: LeasedJob, { reason, contentPolicy = false }: { reason: string; contentPolicy?: boolean }) {
    if (await job.fail({ reason, contentPolicy })) return
    this.#options.log.error({ jobId: job.id }, 'A failed job had nothing to refund; check its request in the ledger.')
  }

  async #finish(job: LeasedJob, { name, bytes, mimeType }: Stored): Promise<void> {
    const model = this.#options.catalogue.models.find(({ id }) => id === job.model)
    const delivery = model?.type === 'video' ? model.delivery : 'inline'
    const result: JobResult = { name, bytes, mimeType, delivery }
    await job.move('completed', { result: JSON.stringify(result), input: null, lease: null })
  }
}

type DueJob = Awaited<ReturnType<typeof dueJobs>>[number]

/** Returns jobs that no process follows, oldest first, without those for which there is no place. */
function dueJobs({ read }: Store, nowMs: number, { models, shares, accounts, inputBytes }: FullPlaces) {
  // Reads no request: the length is stored beside it.
  const bytes = sql<number>`CAST(coalesce(octet_length(job_input.input), 0) AS bigint)`
  return read
    .selectFrom('job')
    .leftJoin('job_input', 'job_input.job', 'job.id')
    .select([...leasedColumns, 'lease_owner', 'account'])
    .select(bytes.as('input_bytes'))
    .where('state', 'in', ['queued', 'running'])
    .where(where => where.or([where('lease_until_ms', 'is', null), where('lease_until_ms', '<', nowMs)]))
    .$if(models.length > 0, query => query.where('model', 'not in', models))
    .$if(accounts.length > 0, query => query.where('account', 'not in', accounts))
    .$if(inputBytes !== null, query => query.where(bytes, '<=', inputBytes ?? 0))
    .where(where =>
      where.and(
        shares.map(({ model, account }) => where.or([where('model', '!=', model), where('account', '!=', account)])),
      ),
    )
    .orderBy('id')
    .limit(claimedAtOnce)
    .execute()
}

interface Asked {
  id: string
  /** Null if the engine has not started. */
  engineState: EngineState | null
}

/**
 * Returns the engine's progress; null if the stored request cannot be read, for example from a release with other
 * rules.
 */
function engineAnswer(
  model: VideoModel | MusicModel,
  { id: jobId, engineState }: Asked,
  input: unknown,
  signal: AbortSignal,
): Promise<JobProgress> | null {
  const { engineModel } = model
  if (model.type === 'video') {
    const request = VideoQueueRequest.safeParse(input).data
    return request ? follow(model.engine, { request, engineModel, jobId, signal }, engineState) : null
  }
  const asked = AudioQueueRequest.safeParse(input).data
  return asked
    ? follow(model.engine, { request: musicRequest(model, asked), engineModel, jobId, signal }, engineState)
    : null
}

interface Engine<Call> {
  start(call: Call): Promise<JobProgress>
  poll(call: Call, engineState: EngineState): Promise<JobProgress>
}

const follow = <Call>(engine: Engine<Call>, call: Call, engineState: EngineState | null): Promise<JobProgress> =>
  engineState ? engine.poll(call, engineState) : engine.start(call)

/** Returns the request with the model's defaults filled in. It has passed `checkMusic`. */
function musicRequest(model: MusicModel, asked: AudioQueueRequest): MusicRequest {
  const { prompt, lyrics_prompt: lyrics, language_code: languageCode, speed } = asked
  const voice = asked.voice ?? model.voices[0]
  return {
    prompt,
    seconds: asked.duration_seconds ?? model.durations.default,
    isInstrumental: asked.force_instrumental ?? false,
    writesLyrics: asked.lyrics_optimizer ?? false,
    ...(lyrics ? { lyrics } : {}),
    ...(voice === undefined ? {} : { voice }),
    ...(languageCode === undefined ? {} : { languageCode }),
    ...(speed === undefined ? {} : { speed }),
  }
}
