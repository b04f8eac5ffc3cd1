import type { Conversion, Converted } from './conversion.ts'
import type { ProbedContainer, ProbeTask } from './probe-container.ts'

/** What the media process is asked, and what it answers to each. */
export interface MediaTasks {
  convert: { task: Conversion; answer: Converted }
  probe: { task: ProbeTask; answer: ProbedContainer }
  /** Which of these encoders are missing. */
  lacking: { task: readonly string[]; answer: readonly string[] }
}

export type MediaTaskName = keyof MediaTasks

export interface MediaQuestion {
  name: MediaTaskName
  task: unknown
}

/** `unreadable` is the file's fault, `missing` that of what is installed. */
export type MediaAnswer = { answer: unknown } | { problem: 'unreadable' | 'missing' | 'failed'; words: string }
