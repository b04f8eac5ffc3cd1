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
  connectMs: number
  firstByteMs: number
  answerMs: number
  silenceMs: number
  streamMs: number
}

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
