import { sql } from 'kysely'
import type { Clock } from '#contract/time.ts'
import type { Log } from '#host/log.ts'
import { withSpan } from '#host/tracing/tracing.ts'
import { noteAct } from './accounts/operator-acts.ts'
import { mostClockDifferenceMs, slicesAtStart, watchedAccounts, watchedEntries } from './bounds.ts'
import { commitSurely, isClockShared, type Outcome, type Store, StoreError } from './store/store.ts'
import type { SetLedgerState } from './store/units.ts'
import { uuidV7 } from './store/uuid-v7.ts'

export interface LedgerState {
  state: 'open' | 'read_only'
  /** For the operator; names no account. */
  reason: string
}

export async function ledgerStateIn(read: Store['read']): Promise<LedgerState> {
  const row = await read.selectFrom('ledger_state').select(['state', 'reason']).executeTakeFirst()
  return row ?? { state: 'open', reason: '' }
}

/**
 * Checks the ledger slice by slice, and makes it read-only if something does not add up: then nothing new is held,
 * calls in flight end, and credits are accepted. Only the audit recomputes everything; this check finds most problems
 * early and at little cost.
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

  /** Returns the state in the store, where another process may have set it. */
  state(): Promise<LedgerState> {
    return ledgerStateIn(this.#store.read)
  }

  /**
   * Runs before anything is served: checks a small ledger completely, and of a larger one the newest entries and the
   * first accounts.
   */
  async lookOverAtStart(): Promise<void> {
    this.#entriesSeen = await newestEntries(this.#store, slicesAtStart * watchedEntries)
    const breach = (await this.#entries(slicesAtStart)) ?? (await this.#accounts(slicesAtStart))
    if (breach) await this.close(breach.sentence, { account: breach.account })
    const { state, reason } = await this.state()
    if (state === 'read_only')
      this.#log.error({ reason }, 'The ledger is read-only; once it adds up, `farebox ledger reopen` reopens it.')
  }

  /** Checks one slice of the new entries, and one slice of a cycle through all accounts. */
  async lookOver(): Promise<void> {
    const breach = (await this.#entries(1)) ?? (await this.#accounts(1))
    if (breach) await this.close(breach.sentence, { account: breach.account })
  }

  /** Refuses new debits from now on, in every process. Runs once; a failure is logged and retried by the next check. */
  close(reason: string, facts: object = {}): Promise<void> {
    this.#closing ??= this.#close(reason, facts).finally(() => {
      this.#closing = null
    })
    return this.#closing
  }

  async #close(reason: string, facts: object): Promise<void> {
    if ((await this.state()).state === 'read_only') return
    this.#log.error({ ...facts, reason }, 'The ledger does not add up; new paid calls are refused until it does.')
    await this.#set('read_only', reason)
  }

  /** Reopens the ledger if a complete check finds nothing wrong; otherwise returns what is wrong. */
  async reopen(actor?: string): Promise<LedgerState> {
    this.#entriesSeen = 0
    this.#accountsSeen = ''
    const breach = (await this.#entries(Number.POSITIVE_INFINITY)) ?? (await this.#accounts(Number.POSITIVE_INFINITY))
    if (breach) return { state: 'read_only', reason: breach.sentence }
    await this.#set('open', 'Reopened by the operator.', actor)
    return { state: 'open', reason: '' }
  }

  async #set(state: SetLedgerState['state'], reason: string, actor?: string): Promise<void> {
    const atMs = this.#clock.now()
    const act = actor === undefined ? [] : [noteAct({ actor, act: 'ledger.reopen' }, atMs)]
    const ops = [{ op: 'ledger' as const, state, reason, atMs }, ...act]
    await commitSurely(this.#store, { id: `${uuidV7(atMs)}/ledger`, ops })
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

/** An inconsistency, and the account concerned; only the sentence may be shown to everyone. */
export interface Breach {
  sentence: string
  account: string
}

export interface Slice<Position> {
  breach: Breach | null
  /** Where the next slice begins; null at the end. */
  next: Position | null
}

type Reading = Pick<Store, 'read'>

/**
 * Checks accounts after `after`: the posted amount must be what their last entry left, the held amount the sum of their
 * open holds. One statement, so that a commit between two reads cannot look like a difference.
 */
export async function lookOverAccounts({ read }: Reading, after: string): Promise<Slice<string>> {
  const { rows } = await sql<AccountRow>`
    SELECT id, posted, held,
      coalesce((SELECT posted_after FROM entry WHERE entry.account = account.id ORDER BY seq DESC LIMIT 1), 0)
        AS entries_usd,
      (SELECT CAST(coalesce(sum(amount - staking_usd), 0) AS BIGINT) FROM hold WHERE hold.account = account.id)
        AS holds_usd
    FROM account WHERE id > ${after} ORDER BY id LIMIT ${watchedAccounts}`.execute(read)
  const breach = rows.map(row => breachOf(row)).find(each => each !== null) ?? null
  return { breach, next: rows.length < watchedAccounts ? null : (rows.at(-1)?.id ?? null) }
}

interface AccountRow {
  id: string
  posted: bigint
  held: bigint
  entries_usd: bigint
  holds_usd: bigint
}

function breachOf({ id: account, posted, held, entries_usd, holds_usd }: AccountRow): Breach | null {
  if (posted !== entries_usd)
    return { account, sentence: 'The balance of an account differs from the sum of its entries.' }
  if (held !== holds_usd)
    return { account, sentence: 'The held amount of an account differs from the sum of its open holds.' }
  if (held < 0n || posted < held) return { account, sentence: 'An account is below zero.' }
  return null
}

/** Checks entries after `after`: each must leave the balance of the one before it plus its own effect. */
export async function lookOverEntries({ read }: Reading, after: number): Promise<Slice<number>> {
  const { rows } = await sql<EntryRow>`
    SELECT seq, account, effect, posted_after,
      coalesce((SELECT posted_after FROM entry AS earlier WHERE earlier.account = entry.account
        AND earlier.seq < entry.seq ORDER BY earlier.seq DESC LIMIT 1), 0) AS before_usd
    FROM entry WHERE seq > ${after} ORDER BY seq LIMIT ${watchedEntries}`.execute(read)
  const wrong = rows.find(row => row.before_usd + row.effect !== row.posted_after)
  const breach = wrong
    ? { account: wrong.account, sentence: 'The balance after an entry does not follow from the entry before it.' }
    : null
  return { breach, next: rows.at(-1)?.seq ?? null }
}

interface EntryRow {
  seq: number
  account: string
  effect: bigint
  posted_after: bigint
  before_usd: bigint
}

/** Returns where the newest `count` entries begin. */
export async function newestEntries({ read }: Reading, count: number): Promise<number> {
  const last = await read.selectFrom('entry').select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst()
  return Math.max(0, (last?.seq ?? 0) - count)
}

/**
 * Wraps the store for all code that writes, including payments: an outcome that is impossible in a consistent ledger
 * makes the ledger read-only, and is logged.
 */
export function watchedLedger(parts: { store: Store; clock: Clock; log: Log }): { store: Store; ledger: LedgerWatch } {
  const ledger = new LedgerWatch(parts)
  const store = watchedStore(parts.store, (reason, facts) => {
    // The failed commit has its own caller, who does not wait for this.
    ledger
      .close(reason, facts)
      .catch(error => parts.log.error({ err: error }, 'The ledger could not be made read-only.'))
  })
  return { store, ledger }
}

/** Wraps the store to report outcomes that are impossible in a consistent ledger. Callers get the same results. */
export function watchedStore(store: Store, onBroken: (reason: string, facts: object) => void): Store {
  return {
    read: store.read,
    soleOwner: store.soleOwner,
    clockDifferenceMs: async () => (await store.clockDifferenceMs?.()) ?? 0,
    prune: (slice, rows) => store.prune(slice, rows),
    ...(store.endHoldsOfOthers ? { endHoldsOfOthers: store.endHoldsOfOthers.bind(store) } : {}),
    ...(store.balances ? { balances: store.balances } : {}),
    close: () => store.close(),
    async commit(units) {
      const outcomes = await withSpan('commit', { 'farebox.units': units.length }, () => store.commit(units)).catch(
        error => {
          if (isBrokenRule(error)) onBroken('A ledger change was refused by a database constraint.', { err: error })
          throw error
        },
      )
      for (const [index, outcome] of outcomes.entries())
        if (isImpossible(outcome)) onBroken('A charge was larger than its hold.', { unit: units[index]?.id })
      return outcomes
    },
  }
}

/** A unit checks before it writes, so if a rule of the tables refuses it, rows were changed from outside. */
const isBrokenRule = (error: unknown): boolean => error instanceof StoreError && error.kind === 'broken_rule'

/** The caller, which knows how much is held, writes off the cost beyond the hold beforehand. */
const isImpossible = (outcome: Outcome): boolean => !outcome.ok && outcome.why === 'over_hold'

/** Logs once that this process's clock differs from the database's, and once that it is right again. */
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
      return this.#log.info(
        {},
        'This clock agrees with the database’s again, so this process takes over the work of ended processes.',
      )
    this.#log.error(
      { mostMs: mostClockDifferenceMs },
      'This clock differs from the database’s, so this process takes over no work of other processes; synchronize the clock with a time server.',
    )
  }
}
