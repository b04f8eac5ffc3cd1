import type { Conversion, Converted } from './conversion.ts'
import type { TakenVideo, TakeVideoTask } from './take-video.ts'
import type { CheckedFormat, Claims } from './whole/check-whole.ts'

/** What the media process is asked, and what it answers to each. */
export interface MediaTasks {
  convert: { task: Conversion; answer: Converted }
  video: { task: TakeVideoTask; answer: TakenVideo }
  /** Whether a file has the end that its format has; the answer is what the file says of itself. */
  whole: { task: { path: string; format: CheckedFormat }; answer: Claims }
  /** Which of these encoders are missing. */
  lacking: { task: readonly string[]; answer: readonly string[] }
}

export type MediaTaskName = keyof MediaTasks

export interface MediaQuestion {
  name: MediaTaskName
  task: unknown
}

/** `unreadable` and `excessive` are the file's fault, `missing` that of what is installed. */
export type MediaAnswer =
  | { answer: unknown }
  | { problem: 'unreadable' | 'excessive' | 'missing' | 'failed'; words: string }
