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

/** What FFmpeg is to do with files. Numbers, names and paths of ours alone: nothing of a request's text is in them. */
export interface Conversion {
  inputs: readonly ConversionInput[]
  /** Each becomes a stream of the file that is written. */
  tracks: readonly Track[]
  to: { path: string; format: string; options?: Options; mostBytes: number }
  /** Width times height that is decoded of one frame; more is refused by the decoder. */
  maxPixels: number
  /** Samples of one channel that are decoded of the audio of one file; absent for files of ours. */
  maxSamples?: number
}

export type Options = Readonly<Record<string, string>>

export interface ConversionInput {
  path: string
  /** The reader is named, so that no content is taken for a playlist or a script. */
  reader: string
  options?: Options
  /** Only the first frame, so that nothing that hides behind it is decoded. */
  isStill?: boolean
}

interface AnyTrack {
  /** The first stream of its kind of each of these inputs is `[in0]`, `[in1]` … in the graph; a graph may also draw by itself. */
  reads: readonly number[]
  /** FFmpeg's filters, from the reads to one open end. */
  graph: string
  encoder: string
  options?: Options
  /** Left out where an input has no such stream. */
  isOptional?: boolean
}

export interface VideoTrack extends AnyTrack {
  kind: 'video'
}

export interface AudioTrack extends AnyTrack {
  kind: 'audio'
  /** Samples a second, and channels, of what is written. */
  rate: number
  channels: 1 | 2
}

export type Track = VideoTrack | AudioTrack

/** What was written. */
export interface Converted {
  /** Frames of video, and samples of one channel of audio. */
  frames: number
  samples: number
  bytes: number
  /** It ended because the file had reached its most bytes. */
  isCutOff: boolean
}

/** How coarse a JPEG is, from 2 to 31. */
export const jpegQuality = (coarseness: number): Options => ({
  flags: '+qscale',
  // FFmpeg counts in steps of 118.
  global_quality: `${coarseness * 118}`,
})

/** A file is cut off, damaged, or none of its format. */
export class Unreadable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Unreadable'
  }
}

/** A file is whole, and has more in it than is taken. The message says what and how much, for its sender. */
export class Excessive extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Excessive'
  }
}
