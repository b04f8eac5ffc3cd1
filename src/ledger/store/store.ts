import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { MicroUsd } from '#contract/money.ts'
import {
  claimRetentionMs,
  limitLogRetentionMs,
  limitLogRows,
  mostClockDifferenceMs,
  nonceRetentionMs,
  pruneSliceRows,
  pruneSlices,
  surelyAttempts,
  surelyRetryMs,
  unitRetentionMs,
} from '../bounds.ts'
import type { EntryTable, Tables } from './tables.ts'
import type { Unit } from './units.ts'
import { uuidV7Floor } from './uuid-v7.ts'

/** Where the service keeps everything that must survive. Two implementations, one interface. */
export interface Store {
  /**
   * Resolves after the commit is durable, with one outcome per unit in order. Rejects only if the outcome is unknown.
   */
  commit(units: readonly Unit[]): Promise<Outcome[]>
  /** Only for reads. Sees every unit that was acknowledged. */
  readonly read: Kysely<Tables>
  /** Deletes at most `rows` rows that are no longer needed; returns how many. See `pruneStore`. */
  prune(slice: PruneSlice, rows: number): Promise<number>
  /** True if no other process writes: then any other owner of a lease is dead, however long the lease still runs. */
  readonly soleOwner: boolean
  /**
   * Ends the holds of all other owners, many at once, and returns the number. Holds that need more than a plain release
   * or capture stay open. Absent if other processes write too.
   */
  endHoldsOfOthers?(owner: string, atMs: number): Promise<number>
  /** Balances as the last outcomes left them; absent if other processes also write. */
  readonly balances?: KnownBalances
  /**
   * Returns how far this process's clock is from the store's own, which every process can read; at most
   * `mostClockDifferenceMs` on opening. Absent if only one process uses the store.
   */
  clockDifferenceMs?(): Promise<number>
  /** Refuses new work, finishes what was accepted, then frees the folder. */
  close(): Promise<void>
}

/** The oldest rows of one table, before a time or an id. Money is never pruned. */
export type PruneSlice =
  | { table: 'unit'; beforeId: string }
  | { table: 'nonce'; expiredBeforeMs: number }
  | { table: 'claim'; createdBeforeMs: number }
  /** Ids of holds; used only by compaction. */
  | { table: 'ended_hold'; beforeId: string }
  | { table: 'limit_log'; createdBeforeMs: number; keepNewest: number }

export interface Balance {
  account: string
  posted: MicroUsd
  held: MicroUsd
}

/** Balances after everything that was acknowledged, without querying the database. */
export interface KnownBalances {
  /** Returns undefined if the balance must be read. */
  get(account: string): Balance | undefined
  /** Reads a balance, and caches it for `get`. */
  read(readNow: () => Promise<Balance | null>): Promise<Balance | null>
}

export type Outcome = Applied | Refused

interface Applied {
  ok: true
  /** True if the unit had been applied before and this is its first outcome. */
  again: boolean
  /** After the unit, one for each account whose money it touched. */
  balances: readonly Balance[]
}

interface Refused {
  ok: false
  /** Index of the refused operation; −1 if the unit itself is `invalid`. */
  op: number
  why: Refusal
}

/**
 * Preconditions are checked in a fixed order, which is part of the contract: existence, then state, then funds, then
 * amount.
 */
export type Refusal =
  | 'no_account'
  | 'no_key'
  | 'key_exists'
  | 'key_moved'
  | 'too_many_keys'
  | 'wallet_taken'
  | 'hold_exists'
  | 'no_hold'
  | 'not_owner'
  | 'lease_live'
  | 'suspended'
  | 'read_only'
  | 'too_many_open'
  | 'insufficient_funds'
  | 'over_budget'
  | 'over_hold'
  | 'request_charged'
  | 'ref_exists'
  | 'nothing_to_refund'
  | 'refunded'
  | 'nonce_used'
  | 'job_exists'
  | 'job_moved'
  | 'payment_exists'
  | 'payment_moved'
  | 'claim_exists'
  | 'claim_moved'
  | 'secret_moved'
  | 'operator_moved'
  | 'last_owner'
  | 'invalid'

export type StoreFailure =
  /** The writer died or the disk failed after the units were sent: send the same units again to learn their outcome. */
  | 'outcome_unknown'
  /** A unit could not be applied and left no trace. */
  | 'unit_failed'
  /** The database or its disk could not be reached; a unit left no trace. */
  | 'unreachable'
  /** A rule of the tables refused a unit, so rows were changed from outside. The unit left no trace. */
  | 'broken_rule'
  | 'queue_full'
  | 'writer_dead'
  | 'closed'
  | 'folder_in_use'
  | 'unusable_database'
  /** SQLite cannot read the file, or the file is gone; only a backup restores the ledger. */
  | 'damaged_database'

/** A failure of the store itself. A refused unit is an outcome, never an error. */
export class StoreError extends Error {
  readonly kind: StoreFailure
  /** Both parts of the message, if it says what to do. */
  readonly failure: { fact: string; nextStep: string } | null

  constructor(kind: StoreFailure, message: string, options: ErrorOptions & { failure?: StoreError['failure'] } = {}) {
    super(message, options)
    this.name = 'StoreError'
    this.kind = kind
    this.failure = options.failure ?? null
  }
}

/** SQLite's primary codes for a damaged file, and for one that is not a database. */
const damageCodes: ReadonlySet<unknown> = new Set([11, 26])

/** Whether SQLite found the file itself damaged. */
export const isDamage = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && damageCodes.has(Number(error.errcode) & 0xff)

/** Why a unit could not be applied; `cause` is the engine's own error, whose message may be in any language. */
export const refusedByRule = (cause: unknown): StoreError =>
  new StoreError('broken_rule', 'A database constraint rejected a unit; nothing was written. See the cause.', { cause })

const awayKinds: ReadonlySet<StoreFailure> = new Set([
  ...(['outcome_unknown', 'unreachable', 'queue_full', 'writer_dead', 'closed'] as const),
])

/**
 * SQLite's primary codes for a file or disk that is unavailable: busy, locked, no memory, read-only, I/O error, full,
 * cannot open.
 */
const awayCodes: ReadonlySet<number> = new Set([5, 6, 7, 8, 10, 13, 14])

/** How much of a driver's message a log repeats. */
const reasonCharacters = 200

/**
 * Returns why the ledger could not be read or written, if that is what an error means, in the words of the code that
 * noticed it. Otherwise null.
 */
export function awayReason(error: unknown): string | null {
  const isAway = error instanceof StoreError ? awayKinds.has(error.kind) : isAwayOfSqlite(error)
  return isAway ? deepest(error).slice(0, reasonCharacters) : null
}

/** Whether the file or disk, rather than a statement, made SQLite fail. */
export const isAwayOfSqlite = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  awayCodes.has(error.errcode & 0xff)

/** Whether another connection held the file for longer than a statement waits; none of ours does. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === 5

/** Drivers put a refused connection into the cause, sometimes as a list without a message of its own. */
function deepest(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause !== undefined) return deepest(error.cause)
  if (error instanceof AggregateError && error.errors.length > 0) return deepest(error.errors[0])
  return error.message
}

/**
 * Repeats a unit whose outcome stayed unknown; its id makes the repeat return the first outcome. Throws the first error
 * after which the unit may have been applied: a later error from an unreachable store does not change that.
 */
export async function commitSurely(store: Pick<Store, 'commit'>, unit: Unit): Promise<Outcome> {
  let unknown: unknown = null
  for (let attempt = 1; ; attempt++) {
    try {
      const [outcome] = await store.commit([unit])
      if (outcome) return outcome
      throw new Error('The store answered without an outcome.')
    } catch (error) {
      if (error instanceof StoreError && error.kind === 'outcome_unknown') unknown ??= error
      if (attempt >= surelyAttempts) throw unknown ?? error
      await sleep(surelyRetryMs * attempt)
    }
  }
}

/** Returns whether this process's clock, which may have jumped, can be used to judge other processes' leases. */
export const isClockShared = async (store: Store): Promise<boolean> =>
  ((await store.clockDifferenceMs?.()) ?? 0) <= mostClockDifferenceMs

/** Returns when this ledger's first table was created; restoring a backup keeps it. */
export async function ledgerCreatedAtMs({ read }: Pick<Store, 'read'>): Promise<number> {
  const { made } = await read
    .withTables<{ kysely_migration: { name: string; timestamp: string } }>()
    .selectFrom('kysely_migration')
    .select(({ fn }) => fn.min('timestamp').as('made'))
    .executeTakeFirstOrThrow()
  const madeAtMs = Date.parse(made)
  if (Number.isNaN(madeAtMs)) throw new Error(`The time at which the ledger was created cannot be read: ${made}.`)
  return madeAtMs
}

interface Pruned {
  units: number
  nonces: number
  claims: number
  limitRows: number
}

/**
 * Deletes rows that no one can ask for any more: old outcomes, expired nonces, old claims without work, old rows of the
 * limit log. The service calls it on a timer. It works slice by slice, so that commits run in between.
 */
export async function pruneStore(store: Pick<Store, 'prune'>, nowMs: number): Promise<Pruned> {
  const longAgo = { table: 'unit', beforeId: uuidV7Floor(Math.max(0, nowMs - unitRetentionMs)) } as const
  const expired = { table: 'nonce', expiredBeforeMs: nowMs - nonceRetentionMs } as const
  const oldLimits = { createdBeforeMs: nowMs - limitLogRetentionMs, keepNewest: limitLogRows }
  return {
    units: await pruneTable(store, longAgo),
    nonces: await pruneTable(store, expired),
    claims: await pruneTable(store, { table: 'claim', createdBeforeMs: nowMs - claimRetentionMs }),
    limitRows: await pruneTable(store, { table: 'limit_log', ...oldLimits }),
  }
}

async function pruneTable(store: Pick<Store, 'prune'>, slice: PruneSlice): Promise<number> {
  let pruned = 0
  for (let slices = 0; slices < pruneSlices; slices++) {
    const rows = await store.prune(slice, pruneSliceRows)
    pruned += rows
    if (rows < pruneSliceRows) break
  }
  return pruned
}

/** The sum of several entries of an account, in the position of one of them. */
export type FoldedEntry = Omit<EntryTable, 'seq' | 'effect'> & { seq: number }

/** Replaces all entries of an account in a range. */
export interface EntryFold {
  account: string
  firstSeq: number
  lastSeq: number
  /** The number of entries to replace. If it has changed by then, nothing is written. */
  count: number
  entries: readonly FoldedEntry[]
  /** The ledger is compacted up to this time. */
  beforeMs: number
}

export interface FoldingStore extends Store {
  /**
   * Replaces entries by their sums in one transaction. This is the only way in which entries are deleted. Rejects and
   * changes nothing if the sums differ for any kind or either side.
   */
  foldEntries(fold: EntryFold): Promise<void>
}
