import type { Selectable } from 'kysely'
import { VideoQueueRequest } from '#contract/video.ts'
import type { EngineState } from '../engines/engine.ts'
import type { JobTable } from '../store/tables.ts'

export type JobRow = Selectable<JobTable>

/** What a finished job left. */
export interface JobResult {
  name: string
  bytes: number
  mimeType: string
}

/** Why a job failed, in our words, and whether it was for its content. */
export interface JobFailure {
  reason: string
  contentPolicy: boolean
}

export const jobInput = (row: JobRow): VideoQueueRequest => VideoQueueRequest.parse(JSON.parse(row.input))
export const jobEngineState = (row: JobRow): EngineState | null =>
  row.engine_state === null ? null : JSON.parse(row.engine_state)
export const jobResult = (row: JobRow): JobResult | null => (row.result === null ? null : JSON.parse(row.result))
export const jobFailure = (row: JobRow): JobFailure | null => (row.failure === null ? null : JSON.parse(row.failure))

/** The name of a job's file in the media store. */
export const mediaName = (jobId: string): string => `${jobId}.mp4`
