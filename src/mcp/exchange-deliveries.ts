import type { Deliveries } from './deliveries.ts'

/** What waits for the answer of one HTTP exchange to be written: until then its result counts as not delivered. */
export class ExchangeDeliveries implements Pick<Deliveries, 'expect' | 'forget'> {
  readonly #waiting: (() => void)[] = []

  expect(_id: unknown, runs: readonly (() => void)[]): void {
    this.#waiting.push(...runs)
  }

  /** Nothing: an exchange is aborted at its own end too, and one that is left early is never written. */
  forget(): void {}

  /** All of the answer has been handed to the system. */
  written(): void {
    for (const run of this.#waiting.splice(0)) run()
  }
}
