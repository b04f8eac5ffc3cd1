import type { Clock } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import { type Breach, lookOverAccounts, lookOverEntries, newestEntries, type Slice } from '../audit/look-over.ts'
import { slicesAtStart, watchedEntries } from '../bounds.ts'
import { commitSurely } from '../store/commit-surely.ts'
import type { Store } from '../store/store.ts'
import type { SetLedgerState } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'

export interface LedgerState {
  state: 'open' | 'read_only'
  /** For whoever has to look into it; names nobody. */
  reason: string
}

/**
 * Looks the books over, slice by slice, and makes them read-only where something does not add up: nothing new is held
 * then, what has begun ends, and credits come in. The whole recomputation is the audit's; this finds most of what it
 * would, soon and cheaply.
 */
export class LedgerWatch {
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  #entriesSeen = 0
  #accountsSeen = ''
  #closing: Promise<void> | null = null

  constructor(options: { store: Store; clock: Clock; log: Log }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#log = options.log
  }

  /** As it stands in the store, where another process may have set it. */
  async state(): Promise<LedgerState> {
    const row = await this.#store.read.selectFrom('ledger_state').select(['state', 'reason']).executeTakeFirst()
    return row ?? { state: 'open', reason: '' }
  }

  /** Before anything is served: small books whole, of larger ones the newest entries and the first accounts. */
  async lookOverAtStart(): Promise<void> {
    this.#entriesSeen = await newestEntries(this.#store, slicesAtStart * watchedEntries)
    const breach = (await this.#entries(slicesAtStart)) ?? (await this.#accounts(slicesAtStart))
    if (breach) await this.close(breach.sentence, { account: breach.account })
    const { state, reason } = await this.state()
    if (state === 'read_only')
      this.#log.error({ reason }, 'The books are read-only; `farebox ledger reopen` opens them once they add up.')
  }

  /** One slice of what is new, and one on the way round all accounts. */
  async lookOver(): Promise<void> {
    const breach = (await this.#entries(1)) ?? (await this.#accounts(1))
    if (breach) await this.close(breach.sentence, { account: breach.account })
  }

  /** Refuses new debits from now on, in every process. Once; a failure is told and tried again by the next look. */
  close(reason: string, facts: object = {}): Promise<void> {
    this.#closing ??= this.#close(reason, facts).finally(() => {
      this.#closing = null
    })
    return this.#closing
  }

  async #close(reason: string, facts: object): Promise<void> {
    if ((await this.state()).state === 'read_only') return
    this.#log.error({ ...facts, reason }, 'The books do not add up; new paid calls are refused until they do.')
    await this.#set('read_only', reason)
  }

  /** Opens the books again where all of them can be looked over without a breach; otherwise says what is wrong. */
  async reopen(): Promise<LedgerState> {
    this.#entriesSeen = 0
    this.#accountsSeen = ''
    const breach = (await this.#entries(Number.POSITIVE_INFINITY)) ?? (await this.#accounts(Number.POSITIVE_INFINITY))
    if (breach) return { state: 'read_only', reason: breach.sentence }
    await this.#set('open', 'Opened by the operator.')
    return { state: 'open', reason: '' }
  }

  async #set(state: SetLedgerState['state'], reason: string): Promise<void> {
    const atMs = this.#clock.now()
    await commitSurely(this.#store, { id: `${uuidV7(atMs)}/ledger`, ops: [{ op: 'ledger', state, reason, atMs }] })
  }

  #entries(slices: number): Promise<Breach | null> {
    return lookOverSlices(slices, async () => {
      const slice = await lookOverEntries(this.#store, this.#entriesSeen)
      this.#entriesSeen = slice.next ?? this.#entriesSeen
      return slice
    })
  }

  #accounts(slices: number): Promise<Breach | null> {
    return lookOverSlices(slices, async () => {
      const slice = await lookOverAccounts(this.#store, this.#accountsSeen)
      this.#accountsSeen = slice.next ?? ''
      return slice
    })
  }
}

async function lookOverSlices(slices: number, look: () => Promise<Slice<unknown>>): Promise<Breach | null> {
  for (let looked = 0; looked < slices; looked++) {
    const { breach, next } = await look()
    if (breach || next === null) return breach
  }
  return null
}
