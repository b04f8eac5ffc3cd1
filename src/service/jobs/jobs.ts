import type { Selectable } from 'kysely'
import type { MicroUsd } from '#contract/money.ts'
import type { AudioQueueRequest } from '#contract/operations/audio.ts'
import type { VideoQueueRequest, VideoStatus } from '#contract/operations/video.ts'
import { dayMs, minuteMs } from '#contract/time.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { JobTable } from '#ledger/store/tables.ts'
import type { Line, Op, UseNonce } from '#ledger/store/units.ts'
import type { MusicModel, VideoModel } from '../models/model.ts'

export interface Jobs {
  /** The charge and the job in one unit. Throws as `Charges.open` does. */
  accept(order: JobOrder): Promise<AcceptedJob>
  /** Throws `requestIdNotFound`, `mediaNotFound`, or why the job failed. */
  retrieve(request: JobRequest): Promise<RetrievedJob>
  /** Deletes the stored media; deleting twice is the same. False while there is none yet. Throws `requestIdNotFound`. */
  complete(request: JobRequest): Promise<boolean>
  /** Deletes a finished file when its download address has delivered it. Throws `requestIdNotFound`. */
  deleteOnceDelivered(request: JobRequest): Promise<void>
  /** Tells that the last byte of a file has left by its download address. */
  delivered(jobId: string): Promise<void>
  /** For a signed address. Null while there is no file yet. */
  openMedia(jobId: string): Promise<MediaFile | 'deleted' | null>
  /** Deletes what a signed address points to. False while there is nothing yet. */
  revoke(jobId: string): Promise<boolean>
}

export interface Links {
  /** Whether we signed this; its time is for the clock. */
  isSigned(grant: { jobId: string; expiresAtMs: number }, signature: string): boolean
}

export interface JobOrder {
  requestId: string
  principal: Principal
  model: VideoModel | MusicModel
  request: VideoQueueRequest | AudioQueueRequest
  price: { total: MicroUsd; lines: readonly Line[] }
  /** Marks for the same commit, each of which may be there already. */
  marks?: readonly UseNonce[]
  /** Operations for the commit that accepts the job. */
  alsoCommit?: (job: QueuedJob) => Promise<readonly Op[]>
}

/** What a caller is told of a job that was taken on. */
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
  path: string
  bytes: number
  mimeType: string
}

export type JobRow = Selectable<JobTable>

/** What a finished job left. */
export interface JobResult {
  name: string
  bytes: number
  mimeType: string
  /** As its model delivered when it finished: a model may leave the catalogue before its videos do. */
  delivery: VideoModel['delivery']
}

/** Why a job failed, in our words, and whether it was for its content. */
export interface JobFailure {
  reason: string
  contentPolicy: boolean
}

export const jobResult = (row: JobRow): JobResult | null => (row.result === null ? null : JSON.parse(row.result))
export const jobFailure = (row: JobRow): JobFailure | null => (row.failure === null ? null : JSON.parse(row.failure))

/** What a job's result says once its file is gone for certain. */
export const noFile = 'null'

/** What the files of jobs are, by the ending of their names. */
const fileTypes: Readonly<Record<string, string>> = {
  mp4: 'video/mp4',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  flac: 'audio/flac',
}

/** Every name that a job's file may have in the media store, each with its type: before it is finished, nobody knows which. */
export const mediaNames = (jobId: string): readonly { name: string; mimeType: string }[] =>
  Object.entries(fileTypes).map(([ending, mimeType]) => ({ name: `${jobId}.${ending}`, mimeType }))

/** The name of a finished job's file. */
export function mediaName(jobId: string, mimeType: string): string {
  const found = mediaNames(jobId).find(each => each.mimeType === mimeType)
  if (!found) throw new Error(`The engine of job ${jobId} made a file of a type that no job has.`)
  return found.name
}

/** How long a job stays with a process that died. */
export const jobLeaseMs = 30_000

/** A live job's lease is renewed this often. */
export const jobRenewalMs = 10_000

/** Engines are asked after their work this often at first, and less often as it takes longer. */
export const pollFirstMs = 250
export const pollMostMs = 5_000
export const pollGrowth = 1.3

/**
 * An engine that is asked after its work answers within this, even where it takes in a video with the question. One that
 * does not is asked again, until the job is too old.
 */
export const engineAnswerMs = 5 * minuteMs

/** Jobs that one process looks after at once; the engines bound their own work further. */
export const jobsAtOnce = 64

/** How often the table is searched for jobs that nobody looks after. */
export const searchIntervalMs = 1_000

/** Without a verdict for this long a job fails and its charge is given back. */
export const longestJobMs = dayMs

/** Finished media stay this long; a download address is never good for longer (brief §2.7). */
export const mediaRetentionMs = dayMs

/** The typical time of a model is taken from this many of its last finished jobs. */
export const timedJobs = 100

/** What a model's typical time is said to be before it has finished a job. */
export const typicalMsBeforeHistory = 30_000

/** Jobs of a dead process that are freed in one commit at a start. */
export const freedJobs = 500

/** Jobs whose media are deleted one after the other before the next are read, and how often that is done in one sweep. */
export const expirySliceJobs = 100
export const expirySlices = 1_000
