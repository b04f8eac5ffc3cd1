import type { HeaderCodec } from '#contract/header-codec.ts'
import { vendorHeader } from '#contract/vendor.ts'
import type { Principal } from './identity/principal.ts'

/** One request and what its answer will carry, from the first header to the last byte. */
export class Exchange {
  readonly requestId: string
  readonly address: string
  readonly signal: AbortSignal
  readonly #vendor: string
  readonly #requestHeaders: (name: string) => readonly string[]
  readonly #answerHeaders = new Headers()
  readonly #whenEnded: (() => void)[] = []
  principal: Principal | null = null
  /** Work under an `Idempotency-Key` goes on when its caller leaves, and what it holds is kept until its end. */
  outlivesCaller = false

  constructor(options: {
    requestId: string
    address: string
    signal: AbortSignal
    vendor: string
    requestHeaders: (name: string) => readonly string[]
  }) {
    this.requestId = options.requestId
    this.address = options.address
    this.signal = options.signal
    this.#vendor = options.vendor
    this.#requestHeaders = options.requestHeaders
  }

  /** Every value of a request header, in the words of the contract. */
  header(name: string): readonly string[] {
    return this.#requestHeaders(vendorHeader(name, this.#vendor))
  }

  set<Value>(codec: HeaderCodec<Value>, value: Value): void {
    this.#answerHeaders.set(vendorHeader(codec.name, this.#vendor), codec.format(value))
  }

  setAll(headers: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(headers))
      this.#answerHeaders.set(vendorHeader(name, this.#vendor), value)
  }

  /** Runs when the last byte of the answer has left, or the caller has and nothing goes on; once. */
  onEnd(run: () => void): void {
    this.#whenEnded.push(run)
  }

  ended(): void {
    for (const run of this.#whenEnded.splice(0)) run()
  }

  left(): void {
    if (!this.outlivesCaller) this.ended()
  }

  get answerHeaders(): Headers {
    return this.#answerHeaders
  }
}
