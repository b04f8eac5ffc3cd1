import type { Log } from '#host/log.ts'
import { mostClockDifferenceMs } from '../store/bounds.ts'
import { isClockShared } from '../store/is-clock-shared.ts'
import type { Store } from '../store/store.ts'

/** Tells, once each, that the clock of this process has gone off the database's, and that it is back. */
export class ClockWatch {
  readonly #store: Store
  readonly #log: Log
  #wasShared = true

  constructor({ store, log }: { store: Store; log: Log }) {
    this.#store = store
    this.#log = log
  }

  async look(): Promise<void> {
    const isShared = await isClockShared(this.#store)
    if (isShared === this.#wasShared) return
    this.#wasShared = isShared
    if (isShared)
      return this.#log.info({}, 'This clock and the database’s agree again; what others leave behind is taken over.')
    this.#log.error(
      { mostMs: mostClockDifferenceMs },
      'This clock differs from the database’s, so nothing of another process is taken over; set the clock by a time server.',
    )
  }
}
