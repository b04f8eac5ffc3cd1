import type { Underway } from '#host/in-flight.ts'
import type { Log } from '#host/log.ts'
import type { Model } from './model.ts'

/** Models that are not sold any more, until the last call that may use them has ended. */
export class ReplacedModels {
  readonly #underway: Underway
  readonly #log: Log
  readonly #waiting = new Set<Model>()

  constructor({ underway, log }: { underway: Underway; log: Log }) {
    this.#underway = underway
    this.#log = log
  }

  /** Ends what they run on after all that is under way now: from now on nobody begins with them. */
  async end(models: readonly Model[]): Promise<void> {
    for (const model of models) this.#waiting.add(model)
    await this.#underway.former()
    await this.#close(models)
  }

  /** Ends those that still wait, for a service that has drained. */
  close(): Promise<void> {
    return this.#close([...this.#waiting])
  }

  async #close(models: readonly Model[]): Promise<void> {
    const due = models.filter(model => this.#waiting.delete(model))
    await Promise.all(due.map(model => this.#closeOne(model)))
  }

  async #closeOne({ id, close }: Model): Promise<void> {
    try {
      await close?.()
    } catch (error) {
      this.#log.warn({ model: id, err: error }, 'What a replaced model ran on could not be ended.')
    }
  }
}
