import type { Selectable } from 'kysely'
import type { MicroUsd } from '#contract/money.ts'
import type { AudioQueueRequest } from '#contract/operations/audio.ts'
import type { VideoQueueRequest, VideoStatus } from '#contract/operations/video.ts'
import { dayMs, minuteMs } from '#contract/time.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { JobTable } from '#ledger/store/tables.ts'
import type { Line, Op, UseNonce } from '#ledger/store/units.ts'
import type { ReadPart } from '#media/media-store.ts'
import type { MusicModel, VideoModel } from '../models/model.ts'

export interface Jobs {
  /** Charges and stores the job in one unit of work. Throws like `Charges.open`. */
  accept(order: JobOrder): Promise<AcceptedJob>
  /** Throws `requestIdNotFound`, `mediaNotFound`, or why the job failed. */
  retrieve(request: JobRequest): Promise<RetrievedJob>
  /**
   * Deletes the stored media; repeating it is harmless. Returns false while there is none yet. Throws
   * `requestIdNotFound`.
   */
  complete(request: JobRequest): Promise<boolean>
  /** Deletes a finished file once its download address has delivered it. Throws `requestIdNotFound`. */
  deleteOnceDelivered(request: JobRequest): Promise<void>
  /** Records that the last byte of a file has left through its download address. */
  delivered(jobId: string): Promise<void>
  /** For a signed address. Null while there is no file yet. */
  openMedia(jobId: string): Promise<MediaFile | 'deleted' | null>
  /** Deletes the file of a signed address. Returns false while there is none yet. */
  revoke(jobId: string): Promise<boolean>
}

export interface Links {
  /** Whether we signed this; does not check its expiry. */
  isSigned(grant: { jobId: string; expiresAtMs: number }, signature: string): boolean
}

export interface JobOrder {
  requestId: string
  principal: Principal
  model: VideoModel | MusicModel
  request: VideoQueueRequest | AudioQueueRequest
  price: { total: MicroUsd; lines: readonly Line[] }
  /** Marks for the same commit, each of which may already exist. */
  marks?: readonly UseNonce[]
  /** Operations for the commit that accepts the job. */
  alsoCommit?: (job: QueuedJob) => Promise<readonly Op[]>
}

/** What a caller learns about an accepted job. */
export interface QueuedJob {
  jobId: string
  downloadUrl: string | null
}

export interface AcceptedJob extends QueuedJob {
  availableMicroUsd: MicroUsd | null
}

export interface JobRequest {
  /** Decides in which of the published shapes a failure is answered. */
  type: 'video' | 'music'
  account: string
  jobId: string
  model: string
}

export type RetrievedJob = { state: 'status'; status: VideoStatus } | ({ state: 'file' } & MediaFile)

export interface MediaFile {
  name: string
  bytes: number
  /** Opens nothing before the first read. */
  read(part?: ReadPart): AsyncIterable<Uint8Array>
  mimeType: string
}

export type JobRow = Selectable<JobTable>

export interface JobResult {
  name: string
  bytes: number
  mimeType: string
  /** The model's delivery when the job finished: a model may leave the catalogue before its videos do. */
  delivery: VideoModel['delivery']
}

/** Why a job failed, in our words, and whether its content was the reason. */
export interface JobFailure {
  reason: string
  contentPolicy: boolean
}

export const jobResult = (row: JobRow): JobResult | null => (row.result === null ? null : JSON.parse(row.result))
export const jobFailure = (row: JobRow): JobFailure | null => (row.failure === null ? null : JSON.parse(row.failure))

/** A job's result once its file is certainly gone. */
export const noFile = 'null'

/** Media types of jobs' files, by extension. */
const fileTypes: Readonly<Record<string, string>> = {
  mp4: 'video/mp4',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  flac: 'audio/flac',
}

/**
 * Every name that a job's file may have in the media store, each with its type, because the type is unknown before the
 * job is finished.
 */
export const mediaNames = (jobId: string): readonly { name: string; mimeType: string }[] =>
  Object.entries(fileTypes).map(([ending, mimeType]) => ({ name: `${jobId}.${ending}`, mimeType }))

/** Returns the name of a finished job's file. */
export function mediaName(jobId: string, mimeType: string): string {
  const found = mediaNames(jobId).find(each => each.mimeType === mimeType)
  if (!found) throw new Error(`The engine of job ${jobId} made a file of an unsupported type.`)
  return found.name
}

/** How long a job stays with a process that died. */
export const jobLeaseMs = 30_000

/** How often a live job's lease is renewed. */
export const jobRenewalMs = 10_000

/** How often engines are polled at first; less often as a job takes longer. */
export const pollFirstMs = 250
export const pollMostMs = 5_000
export const pollGrowth = 1.3

/**
 * Timeout of one poll, even if it sends the engine a video. After a timeout the engine is polled again, until the job
 * is too old.
 */
export const engineAnswerMs = 5 * minuteMs

/** Jobs that a search takes at most before it searches again. */
export const claimedAtOnce = 64

/** How often the table is searched for jobs that no process runs. */
export const searchIntervalMs = 1_000

/** A job without a result for this long fails and is refunded. */
export const longestJobMs = dayMs

/** How long finished media are kept; a download address is never valid for longer (brief §2.7). */
export const mediaRetentionMs = dayMs

/** How many of a model's last finished jobs determine its typical time. */
export const timedJobs = 100

/** The reported typical time of a model before its first finished job. */
export const typicalMsBeforeHistory = 30_000

/** Jobs of a dead process to free in one commit at startup. */
export const freedJobs = 500

/** Jobs whose media are deleted before the next are read, and how often that is repeated in one sweep. */
export const expirySliceJobs = 100
export const expirySlices = 1_000

/** Jobs that a sweep of the media store asks the ledger about in one statement. */
export const sweptJobs = 500
