import type { UpstreamOptions } from './openai/upstream-options.ts'

export interface JobUpstreamOptions extends UpstreamOptions {
  /** Finished videos lie here as `JOB.mp4` until the caller takes them. */
  workFolder: string
}
