import type { UpstreamOptions } from './openai/upstream-options.ts'

export interface JobUpstreamOptions extends UpstreamOptions {
  /** Finished files lie here as `JOB.mp4`, or `.mp3`, `.wav` and `.flac`, until the caller takes them. */
  workFolder: string
  /** What is handed over; a video where absent. */
  makes?: 'video' | 'sound'
}
