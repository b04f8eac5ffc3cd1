import type { PaymentOption } from '#contract/wire/payment.ts'
import type { Log } from '#host/log.ts'
import { watchIntervalMs } from '../bounds.ts'
import type { Facilitator } from '../facilitators/facilitator.ts'

/** Looks whether payments could be settled, before a payer finds out: at the start and then again and again. */
export class PaymentWatch {
  readonly #options: readonly PaymentOption[]
  readonly #facilitator: Facilitator
  readonly #log: Log
  readonly #problems = new Map<string, string>()
  #timer: NodeJS.Timeout | null = null
  #round: Promise<void> | null = null

  constructor(parts: { options: readonly PaymentOption[]; facilitator: Facilitator; log: Log }) {
    this.#options = parts.options
    this.#facilitator = parts.facilitator
    this.#log = parts.log
  }

  /** What keeps payments from being settled, as the last look saw it: one sentence a network, none where all is well. */
  get problems(): readonly string[] {
    return [...this.#problems.values()]
  }

  /** Looks at once and then every minute. Nobody waits for it: a service without its node still answers everything else. */
  start(): void {
    this.#timer ??= setInterval(() => void this.look(), watchIntervalMs).unref()
    void this.look()
  }

  /** Resolves when the look that runs has ended. */
  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
    await this.#round
  }

  /** One look; whoever asks while one runs gets that one. */
  look(): Promise<void> {
    this.#round ??= Promise.all(this.#options.map(option => this.#lookAt(option)))
      .then(() => undefined)
      .finally(() => {
        this.#round = null
      })
    return this.#round
  }

  /** Only what changes is told, or the log would be full of it. */
  async #lookAt(option: PaymentOption): Promise<void> {
    const { network } = option
    const problem = await this.#facilitator
      .problem(option)
      .catch(() => 'It could not be checked whether payments can be settled.')
    const before = this.#problems.get(network)
    if (problem) this.#problems.set(network, problem)
    else this.#problems.delete(network)
    if (problem && problem !== before) this.#log.error({ network, problem }, 'Payments cannot be settled.')
    if (!problem && before) this.#log.info({ network }, 'Payments can be settled again.')
  }
}
