/** `POST /api/models` */
export interface ModelRow {
  model: string
  type: string
  /** Whether it is switched off, so that no caller can use it. */
  isOff: boolean
  /** As text, such as `0.1 USD per million input tokens`. */
  prices: string[]
  /** Calls that are waiting for a free upstream. */
  waiting: number
  /** How many calls may wait, and how long; null if it runs on a single engine. */
  queue: { length: number; waitMs: number } | null
  /** Whether one of its engines can be tried with a small call. */
  isTriable: boolean
  upstreams: UpstreamRow[]
}

export interface UpstreamRow {
  name: string
  /** Its share of the calls, relative to the others. */
  weight: number
  concurrency: number
  state: 'up' | 'trial' | 'down'
  running: number
  calls: number
  failures: number
}

/** `POST /api/models/try`: what came of one call. */
export interface ModelTried {
  outcome: 'works' | 'refused' | 'busy' | 'silent' | 'failed'
  tookMs: number
  said: string
  /** The image or the speech, if there is one. */
  made: { type: string; base64: string } | null
}
