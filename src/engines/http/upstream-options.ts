/** Apart from the client that takes it, because the package shows no type of undici. */
export interface UpstreamOptions {
  /** As its clients know it, with the version: `http://127.0.0.1:11434/v1`. */
  baseUrl: string
  /** Names the environment variable that holds the key; none where the server wants none. */
  apiKeyVariable?: string
  environment?: NodeJS.ProcessEnv
  timeouts?: Partial<EngineTimeouts>
  /** What went wrong with the server, without a word of it: for a log. */
  onProblem?: (problem: EngineProblem) => void
}

export interface EngineTimeouts {
  /** Until a server accepts a connection; on a healthy network it is milliseconds. */
  connectMs: number
  /** Until the first byte of a stream; a long prompt on a busy machine is read within two minutes. */
  firstByteMs: number
  /** A whole answer that is not streamed. */
  answerMs: number
  /** Silence between two pieces of an answer, after which its server counts as gone. */
  silenceMs: number
  /** The longest stream; at ten tokens a second it is 18,000. */
  streamMs: number
}

/** Where an operator sets no others. */
export const usualTimeouts: EngineTimeouts = {
  connectMs: 5_000,
  firstByteMs: 120_000,
  answerMs: 600_000,
  silenceMs: 60_000,
  streamMs: 1_800_000,
}

/** An idle connection is kept this long, below the 5 s after which common servers close theirs. */
export const idleConnectionMs = 4_000

export interface EngineProblem {
  host: string
  status: number | null
  code: string
}

export interface JobUpstreamOptions extends UpstreamOptions {
  /** Finished files lie here as `JOB.mp4`, or `.mp3`, `.wav` and `.flac`, until the caller takes them. */
  workFolder: string
  /** What is handed over; a video where absent. */
  makes?: 'video' | 'audio'
}

/**
 * A whole answer: sixteen choices of 32,000 tokens stay below it. With log probabilities, of which twenty take 2,000 bytes a
 * token and more, it is 12,000 tokens: the service refuses requests for larger ones before it asks.
 */
export const answerBytes = 32 * 1024 * 1024
