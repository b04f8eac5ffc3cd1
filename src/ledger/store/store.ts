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
import type { Tables } from './tables.ts'
import type { Unit } from './units.ts'
import { uuidV7Floor } from './uuid-v7.ts'

/** Where the service keeps everything that must survive. Two implementations, one contract. */
export interface Store {
  /** Resolves after the commit is durable, one outcome a unit in their order. Rejects only where the outcome is unknown. */
  commit(units: readonly Unit[]): Promise<Outcome[]>
  /** Reads only. Sees every unit that was acknowledged. */
  readonly read: Kysely<Tables>
  /** Deletes at most `rows` rows of what is no longer needed; answers how many they were. See `pruneStore`. */
  prune(slice: PruneSlice, rows: number): Promise<number>
  /**
   * True where no other process writes: then any other process that has a lease in it is dead, however long the lease
   * still runs.
   */
  readonly soleOwner: boolean
  /** Balances as the last outcomes left them; absent where other processes write as well. */
  readonly balances?: KnownBalances
  /**
   * By how much the clock of this process differs from the store's own, which every process can ask; at most
   * `mostClockDifferenceMs` when it opens. Absent where one process alone has it.
   */
  clockDifferenceMs?(): Promise<number>
  /** Refuses new work, finishes what has been taken, then frees the folder. */
  close(): Promise<void>
}

/** The oldest rows of one table, before a time or an id. Money is never pruned. */
export type PruneSlice =
  | { table: 'unit'; beforeId: string }
  | { table: 'nonce'; expiredBeforeMs: number }
  | { table: 'claim'; createdBeforeMs: number }
  | { table: 'limit_log'; createdBeforeMs: number; keepNewest: number }

export interface Balance {
  account: string
  posted: MicroUsd
  held: MicroUsd
}

/** What accounts have after all that was acknowledged, without asking the database. */
export interface KnownBalances {
  /** Undefined where it has to be read. */
  get(account: string): Balance | undefined
  /** Reads a balance, and keeps it for `get`. */
  read(readNow: () => Promise<Balance | null>): Promise<Balance | null>
}

export type Outcome = Applied | Refused

interface Applied {
  ok: true
  /** True when the unit had been applied before and this is its first outcome. */
  again: boolean
  /** After the unit, one for each account whose money it touched. */
  balances: readonly Balance[]
}

interface Refused {
  ok: false
  /** Index of the operation that was refused; −1 where the unit itself is `invalid`. */
  op: number
  why: Refusal
}

/** The order of preconditions is part of the contract: it exists, then its state, then the funds, then the amount. */
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
  | 'invalid'

export type StoreFailure =
  /** The writer died or the disk failed after the units were sent: send the same units again to learn their outcome. */
  | 'outcome_unknown'
  /** A unit could not be applied and left no trace. */
  | 'unit_failed'
  /** The database or its disk could not be had; a unit left no trace. */
  | 'unreachable'
  /** A rule of the tables refused a unit, so the rows are not as the ledger left them. It left no trace. */
  | 'broken_rule'
  | 'queue_full'
  | 'writer_dead'
  | 'closed'
  | 'folder_in_use'
  | 'unusable_database'
  /** The file is there, and SQLite cannot read it, or it has gone; only a backup brings the ledger back. */
  | 'damaged_database'

/** What goes wrong with the store itself. A refused unit is an outcome, never an error. */
export class StoreError extends Error {
  readonly kind: StoreFailure

  constructor(kind: StoreFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreError'
    this.kind = kind
  }
}

/** SQLite's primary codes of a file that is damaged, and of one that is no database. */
const damageCodes: ReadonlySet<unknown> = new Set([11, 26])

/** Whether SQLite found the file itself damaged. */
export const isDamage = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && damageCodes.has(Number(error.errcode) & 0xff)

/** Why a unit could not be applied; `cause` is the engine's own error, whose words may be in any language. */
export const refusedByRule = (cause: unknown): StoreError =>
  new StoreError('broken_rule', 'A database constraint rejected a unit; nothing was written. See the cause.', { cause })

const awayKinds: ReadonlySet<StoreFailure> = new Set([
  ...(['outcome_unknown', 'unreachable', 'queue_full', 'writer_dead', 'closed'] as const),
])

/** SQLite's primary codes of a file or disk that cannot be had: busy, locked, no memory, read-only, input or output, full, not opened. */
const awayCodes: ReadonlySet<number> = new Set([5, 6, 7, 8, 10, 13, 14])

/** Characters of a driver's words that a log repeats. */
const reasonCharacters = 200

/**
 * Why the books could not be asked or written, where that is what an error says: in the words of the code that noticed.
 * Null otherwise.
 */
export function awayReason(error: unknown): string | null {
  const isAway = error instanceof StoreError ? awayKinds.has(error.kind) : isAwayOfSqlite(error)
  return isAway ? deepest(error).slice(0, reasonCharacters) : null
}

/** Whether the file or the disk, and not a statement, made SQLite fail. */
export const isAwayOfSqlite = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  awayCodes.has(error.errcode & 0xff)

/** Whether another connection held the file for longer than a statement waits; none of ours does. */
export const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === 5

/** Drivers tell of a refused connection in the cause, at times in a list of them without words of its own. */
function deepest(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause !== undefined) return deepest(error.cause)
  if (error instanceof AggregateError && error.errors.length > 0) return deepest(error.errors[0])
  return error.message
}

/**
 * Repeats a unit whose outcome stayed unknown: its id makes the repeat return the first outcome. Throws the first error
 * after which the unit may stand, because a later one, of a store that is away, does not take that back.
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

/** Whether leases of other processes may be judged by this one's clock, which may have jumped since they were written. */
export const isClockShared = async (store: Store): Promise<boolean> =>
  ((await store.clockDifferenceMs?.()) ?? 0) <= mostClockDifferenceMs

/** When the first table of these books was made; a backup that is restored keeps it. */
export async function ledgerCreatedAtMs({ read }: Pick<Store, 'read'>): Promise<number> {
  const { made } = await read
    .withTables<{ kysely_migration: { name: string; timestamp: string } }>()
    .selectFrom('kysely_migration')
    .select(({ fn }) => fn.min('timestamp').as('made'))
    .executeTakeFirstOrThrow()
  const madeAtMs = Date.parse(made)
  if (Number.isNaN(madeAtMs)) throw new Error(`The ledger does not say when it was created: ${made}.`)
  return madeAtMs
}

interface Pruned {
  units: number
  nonces: number
  claims: number
  limitRows: number
}

/**
 * Deletes what nobody can ask for any more: old outcomes, expired nonces, old claims that nobody works under, old rows of the log of met
 * limits. Called on a timer by the service. It goes slice by slice, so that commits run in between.
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
