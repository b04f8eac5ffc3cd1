// Separate from the client that uses these options, because the package's types must not mention undici.

/** How to reach a model server, and how long to wait for it. */
export interface UpstreamOptions {
  /** The base URL that its clients use, including the version: `http://127.0.0.1:11434/v1`. */
  baseUrl: string
  /** Name of the environment variable with the key; absent if the server needs none. */
  apiKeyVariable?: string
  environment?: NodeJS.ProcessEnv
  timeouts?: Partial<EngineTimeouts>
  /** Reports what went wrong with the server, for a log; never the server's own words. */
  onProblem?: (problem: EngineProblem) => void
}

export interface EngineTimeouts {
  /** Until a server accepts a connection; a healthy network takes milliseconds. */
  connectMs: number
  /** Until the first byte of a stream; even a busy machine reads a long prompt within two minutes. */
  firstByteMs: number
  /** For a complete answer without streaming. */
  answerMs: number
  /** Longest silence within an answer; after it, the call fails. */
  silenceMs: number
  /** The longest stream: 18,000 tokens at ten per second. */
  streamMs: number
}

/** The defaults. */
export const usualTimeouts: EngineTimeouts = {
  connectMs: 5_000,
  firstByteMs: 120_000,
  // OpenAI's clients give up after ten minutes, and then repeat a call that is still charged.
  answerMs: 570_000,
  silenceMs: 60_000,
  streamMs: 1_800_000,
}

/** How long an idle connection is kept: less than the 5 s after which common servers close theirs. */
export const idleConnectionMs = 4_000

export interface EngineProblem {
  host: string
  status: number | null
  code: string
}

export interface JobUpstreamOptions extends UpstreamOptions {
  /** Finished files are here as `JOB.mp4`, or `.mp3`, `.wav` and `.flac`, until the caller takes them. */
  workFolder: string
  /** The kind of result; video by default. */
  makes?: 'video' | 'audio'
}

/**
 * Largest complete answer: sixteen choices of 32,000 tokens stay below it. With twenty log probabilities, which take
 * 2,000 bytes per token and more, it is 12,000 tokens; the service refuses larger requests before calling.
 */
export const answerBytes = 32 * 1024 * 1024
