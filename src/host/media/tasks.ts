import type { TakenVideo, TakeVideoTask } from './take-video.ts'
import type { CheckedFormat, Claims } from './whole/check-whole.ts'

/** The media process's tasks, and its answer to each. */
export interface MediaTasks {
  convert: { task: Conversion; answer: Converted }
  video: { task: TakeVideoTask; answer: TakenVideo }
  /** Whether a file ends as its format requires; the answer is what the file claims about itself. */
  whole: { task: { path: string; format: CheckedFormat }; answer: Claims }
  /** Which of these encoders are missing. */
  lacking: { task: readonly string[]; answer: readonly string[] }
}

export type MediaTaskName = keyof MediaTasks

export interface MediaRequest {
  name: MediaTaskName
  task: unknown
}

/** `unreadable` and `excessive` are the file's fault; `missing` is about what is installed. */
export type MediaAnswer =
  | { answer: unknown }
  | { problem: 'unreadable' | 'excessive' | 'missing' | 'failed'; words: string }

/**
 * What FFmpeg should do with files. Contains only our own numbers, names and paths, and nothing of a request's text.
 */
export interface Conversion {
  inputs: readonly ConversionInput[]
  /** Each becomes a stream of the output file. */
  tracks: readonly Track[]
  to: { path: string; format: string; options?: Options; mostBytes: number }
  /** Most pixels of one decoded frame; the decoder refuses more. */
  maxPixels: number
  /** Most samples per channel to decode of one file's audio; absent for our own files. */
  maxSamples?: number
}

export type Options = Readonly<Record<string, string>>

export interface ConversionInput {
  path: string
  /** The demuxer is fixed, so that no content can pass for a playlist or a script. */
  reader: string
  options?: Options
  /** Only the first frame, so that nothing behind it is decoded. */
  isStill?: boolean
}

interface AnyTrack {
  /**
   * The first stream of its kind in each of these inputs is `[in0]`, `[in1]` … in the graph; a graph may also generate
   * its content.
   */
  reads: readonly number[]
  /** FFmpeg filters, from the inputs to one output. */
  graph: string
  encoder: string
  options?: Options
  /** Skipped if an input has no such stream. */
  isOptional?: boolean
}

export interface VideoTrack extends AnyTrack {
  kind: 'video'
}

export interface AudioTrack extends AnyTrack {
  kind: 'audio'
  /** Samples per second, and channels, of the output. */
  rate: number
  channels: 1 | 2
}

export type Track = VideoTrack | AudioTrack

export interface Converted {
  /** Frames of video, and samples of one audio channel. */
  frames: number
  samples: number
  bytes: number
  /** It ended because the file reached its maximum size. */
  isCutOff: boolean
}

/** Compression of a JPEG, from 2 (best) to 31. */
export const jpegQuality = (coarseness: number): Options => ({
  flags: '+qscale',
  // FFmpeg counts in steps of 118.
  global_quality: `${coarseness * 118}`,
})
