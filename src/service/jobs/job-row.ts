import type { Selectable } from 'kysely'
import type { VideoModel } from '../models/model.ts'
import type { JobTable } from '../store/tables.ts'

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

/** The name of a job's file in the media store. */
export const mediaName = (jobId: string): string => `${jobId}.mp4`
