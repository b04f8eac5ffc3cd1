import type { Clock } from '#contract/time.ts'
import { assumedTokensASecond, pacedPieces, thinkingAfterMs } from './bounds.ts'

/** How long an engine was silent while it worked, and what it can have thought meanwhile at the pace of its own stream. */
export class ThinkingTime {
  readonly #clock: Clock
  #beganAtMs: number | null = null
  #heardAtMs = 0
  #silentMs = 0
  #pieces = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The engine is asked. */
  begin(): void {
    this.#beganAtMs = this.#clock.now()
    this.#heardAtMs = this.#beganAtMs
  }

  /** It sent so many pieces, most of which are a token. */
  heard(pieces: number): void {
    const nowMs = this.#clock.now()
    const silentMs = nowMs - this.#heardAtMs
    if (this.#beganAtMs !== null && silentMs > thinkingAfterMs) this.#silentMs += silentMs
    this.#heardAtMs = nowMs
    this.#pieces += pieces
  }

  /** What it can have thought in its silences, the present one included. */
  get tokens(): number {
    if (this.#beganAtMs === null) return 0
    const nowMs = this.#clock.now()
    const silentNowMs = nowMs - this.#heardAtMs
    const silentMs = this.#silentMs + (silentNowMs > thinkingAfterMs ? silentNowMs : 0)
    const speakingMs = nowMs - this.#beganAtMs - silentMs
    const isPaced = this.#pieces >= pacedPieces && speakingMs > 0
    const aSecond = isPaced ? (this.#pieces * 1_000) / speakingMs : assumedTokensASecond
    return Math.floor((silentMs * aSecond) / 1_000)
  }
}
