import type { Selectable } from 'kysely'
import type { JobTable } from '#ledger/store/tables.ts'
import type { VideoModel } from '../models/model.ts'

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
