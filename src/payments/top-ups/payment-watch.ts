import type { Clock } from '#contract/time.ts'
import type { PaymentOption } from '#contract/wire/payment.ts'
import type { Log } from '#host/log.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { payeeNoteMs, watchIntervalMs } from '../bounds.ts'
import type { Facilitator } from '../facilitators/rail.ts'
import { payeeOf } from '../rails/rails.ts'

/**
 * Checks at startup and then periodically whether payments can be settled, so that the operator knows before a payer
 * does.
 */
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

  /** What keeps payments from being settled, as of the last check: one sentence per network, none if all is well. */
  get problems(): readonly string[] {
    return [...this.#problems.values()]
  }

  /**
   * Checks at once and then every minute. Runs in the background: a service without its node still answers everything
   * else.
   */
  start(): void {
    this.#timer ??= setInterval(() => void this.look(), watchIntervalMs).unref()
    void this.look()
  }

  /** Resolves when the current check has ended. */
  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
    await this.#round
  }

  /** Runs one check; a call during a check joins it. */
  look(): Promise<void> {
    this.#round ??= Promise.all(this.#options.map(option => this.#lookAt(option)))
      .then(() => undefined)
      .finally(() => {
        this.#round = null
      })
    return this.#round
  }

  /** Only changes are logged, so that the log does not fill up. */
  async #lookAt(option: PaymentOption): Promise<void> {
    const { network } = option
    const problem = await this.#facilitator
      .problem(option)
      .catch(() => 'Checking whether payments can be settled failed.')
    const before = this.#problems.get(network)
    if (problem) this.#problems.set(network, problem)
    else this.#problems.delete(network)
    if (problem && problem !== before) this.#log.error({ network, problem }, 'Payments cannot be settled.')
    if (!problem && before) this.#log.info({ network }, 'Payments can be settled again.')
  }
}

interface Payee {
  network: string
  payTo: string
}

const prefix = 'payee '

/**
 * Reports if another service on the same ledger takes payments for another payee: each would refuse payments that were
 * signed for the other, and an audit of the chain needs both. Every service records its payee for some minutes, as a
 * nonce that expires, so that a payee can be replaced one process after the other.
 */
export class PayeeWatch {
  readonly #payees: readonly Payee[]
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  readonly #reported = new Set<string>()
  #timer: NodeJS.Timeout | null = null

  constructor(parts: { options: readonly PaymentOption[]; store: Store; clock: Clock; log: Log }) {
    this.#payees = parts.options.map(({ network, payTo }) => ({ network, payTo: payeeOf({ network, payTo }) }))
    this.#store = parts.store
    this.#clock = parts.clock
    this.#log = parts.log
  }

  /** Runs before anything is served, and then every minute; a ledger of one process needs no watch. */
  async start(): Promise<void> {
    if (this.#store.soleOwner) return
    this.#timer ??= setInterval(() => void this.look(), watchIntervalMs).unref()
    await this.look()
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
  }

  /** Never rejects. */
  async look(): Promise<void> {
    try {
      await this.#note()
      for (const other of await this.#noted()) this.#tellOf(other)
    } catch (err) {
      this.#log.error({ err }, 'The check for other services with the same payee failed.')
    }
  }

  async #note(): Promise<void> {
    const atMs = this.#clock.now()
    const slot = Math.floor(atMs / watchIntervalMs)
    await this.#store.commit(
      this.#payees.map(({ network, payTo }) => {
        const key = `${prefix}${network} ${payTo} ${slot}`
        // Another process with the same payee may have recorded it already, which is just as good.
        return { id: `${uuidV7(atMs)}/payee`, ops: [{ op: 'nonce', key, expiresAtMs: atMs + payeeNoteMs }] }
      }),
    )
  }

  async #noted(): Promise<Payee[]> {
    const rows = await this.#store.read
      .selectFrom('nonce')
      .select('id')
      .where('id', 'like', `${prefix}%`)
      .where('expires_at_ms', '>', this.#clock.now())
      .execute()
    return rows.map(({ id }) => {
      const [, network = '', payTo = ''] = id.split(' ')
      return { network, payTo }
    })
  }

  #tellOf({ network, payTo }: Payee): void {
    const own = this.#payees.find(each => each.network === network)
    if (!own || own.payTo === payTo || this.#reported.has(`${network} ${payTo}`)) return
    this.#reported.add(`${network} ${payTo}`)
    this.#log.error(
      { network, payee: own.payTo, otherPayee: payTo },
      'Another service on this ledger has a different payee. Give all of them the same payee, or each its own ledger.',
    )
  }
}
