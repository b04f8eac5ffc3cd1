import type { Selectable } from 'kysely'
import { type PlanName, planNamed } from '#contract/limits.ts'
import { formatUsd, type MicroUsd, microUsd } from '#contract/money.ts'
import type { KeyRole } from '#contract/operations/keys.ts'
import { type Clock, isAhead, textOfDay } from '#contract/time.ts'
import { RecentMap } from '#host/recent-map.ts'
import { periodStarts } from '#ledger/accounts/keys.ts'
import { noteAct } from '#ledger/accounts/operator-acts.ts'
import type { KeyBudget, KeyState } from '#ledger/store/account-ops.ts'
import { groupedRead } from '#ledger/store/batching.ts'
import { commitSurely, type Refusal, type Store } from '#ledger/store/store.ts'
import type { ApiKeyTable } from '#ledger/store/tables.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import {
  isKeySecret,
  type KeyHash,
  keyEnding,
  keyHash,
  keyName,
  keyPrefix,
  markOf,
  newKeySecret,
  sameHash,
} from './key-hash.ts'
import { liveKeysByMark, secretToNote } from './server-secret.ts'

export interface ApiKeyRecord {
  id: string
  account: string
  prefix: string
  /** The last characters of the secret. */
  ending: string
  role: KeyRole
  label: string
  createdAtMs: number
  /** Null if it never expires. */
  expiresAtMs: number | null
  revokedAtMs: number | null
  /** Null if the key may spend all the credit of its account. */
  budget: KeyBudget | null
  /** Which of the server's secrets the key needs. */
  needs: KeyNeeds
  /** The plan that an operator chose for the account; absent if the configuration decides, and in lists. */
  plan?: PlanName
}

/**
 * `former`: the key stops working when that secret is dropped. `missing`: it needs a secret that was dropped or belongs
 * to another service.
 */
export type KeyNeeds = 'current' | 'former' | 'missing'

export interface NewKey {
  account: string
  label: string
  /** `INFERENCE` if absent. */
  role?: KeyRole
  expiresAtMs: number | null
  budget?: KeyBudget | null
  /** Maximum number of active keys of the account, including this one; unlimited if absent. */
  mostActive?: number
  /**
   * Operations that must happen before the key exists, in the same unit of work: opening its account, and giving it
   * credit.
   */
  opening?: readonly Op[]
  /** Operations that follow in that unit, once the key has an id. */
  also?: (id: string) => readonly Op[]
  /** The key that gives the new one its budget, and the part that it keeps. Both are set in the same unit of work. */
  giver?: { key: ApiKeyRecord; keeps: KeyBudget }
}

/** `secret` is the only copy. */
export interface CreatedKey extends ApiKeyRecord {
  secret: string
}

/** Why the store refused to create or revoke a key. */
export class KeyRefused extends Error {
  readonly why: Refusal

  constructor(why: Refusal) {
    super(`The store refused the key: ${why}.`)
    this.name = 'KeyRefused'
    this.why = why
  }
}

/** What an owner may change about a key, besides its budget. */
export interface KeyChange {
  label?: string
  expiresAtMs?: number | null
  /**
   * The state on which the change is based. If the key is no longer in that state, the change is refused as
   * `key_moved`.
   */
  before?: KeyState
}

interface Found {
  record: ApiKeyRecord
  untilMs: number
}

const keyRow = groupedRead(
  (read, hashes) =>
    read
      .selectFrom('api_key')
      .leftJoin('customer', 'customer.account', 'api_key.account')
      .selectAll('api_key')
      .select('customer.plan')
      .where('hash', 'in', hashes),
  row => row.hash,
)

/** Creates, finds, revokes and lists API keys (brief §5.1). */
export class ApiKeys {
  readonly #store: Store
  readonly #clock: Clock
  /** The first one makes new hashes; the others belong to former secrets whose keys still work. */
  readonly #hashes: readonly [KeyHash, ...KeyHash[]]
  readonly #found = new RecentMap<Found>(cachedKeys)
  /** Incremented with every change, so that a look-up that began before a change is not cached after it. */
  #changes = 0

  constructor(options: {
    store: Store
    clock: Clock
    /** The server's secret, followed by former ones after a rotation. */
    serverSecrets: readonly [Uint8Array, ...Uint8Array[]]
  }) {
    this.#store = options.store
    this.#clock = options.clock
    const [current, ...former] = options.serverSecrets
    this.#hashes = [keyHash(current), ...former.map(keyHash)]
  }

  /** Throws `WrongSecret` if keys that are created now would not work in the other services of this ledger. */
  async requireSecret(): Promise<void> {
    const [current, ...former] = this.#hashes
    await secretToNote(this.#store, [current.mark, ...former.map(({ mark }) => mark)], this.#clock.now())
  }

  /**
   * The account must exist. Throws `KeyRefused` if the store refuses: `key_moved` if the giving key has changed,
   * `over_budget` if that key has already spent more than it would keep.
   */
  async create(order: NewKey): Promise<CreatedKey> {
    const { account, role = 'INFERENCE', expiresAtMs, budget = null, opening = [], also, giver } = order
    const atMs = this.#clock.now()
    const secret = newKeySecret()
    const id = uuidV7(atMs)
    const shown = { prefix: keyPrefix(secret), ending: keyEnding(secret), label: labelOf(order.label) }
    const key = { account, ...shown, role, expiresAtMs, budget }
    const most = order.mostActive === undefined ? {} : { mostActive: order.mostActive }
    const made: Op = { op: 'key', key: id, hash: this.#hashes[0].hash(secret), atMs, ...key, ...most }
    const lowered = giver ? [loweredTo(giver.key, giver.keeps, atMs)] : []
    await this.#apply(`${id}:key`, ...opening, ...lowered, made, ...(also?.(id) ?? []))
    if (giver) this.#forget()
    return { id, ...key, createdAtMs: atMs, revokedAtMs: null, needs: 'current', secret }
  }

  /** Takes effect at once in this process, within a second in others. Revoking a key again keeps its first date. */
  async revoke(id: string, by?: ByOperator): Promise<void> {
    const atMs = this.#clock.now()
    const noted = by ? [noteAct({ ...by, act: 'key.revoke', subject: id }, atMs)] : []
    await this.#apply(`${uuidV7(atMs)}:revoke`, { op: 'revokeKey', key: id, atMs }, ...noted)
    this.#forget()
  }

  /**
   * Takes effect at once in this process, within a second in others. A null budget removes the limits; other absent
   * members stay. Throws `KeyRefused`.
   */
  async setBudget(id: string, budget: KeyBudget | null, more: KeyChange & { by?: ByOperator } = {}): Promise<void> {
    const { by, ...change } = more
    const atMs = this.#clock.now()
    const after = { budget: budget && noted(budget) }
    const act = by ? [noteAct({ ...by, act: 'key.budget', subject: id, after }, atMs)] : []
    const label = change.label === undefined ? {} : { label: labelOf(change.label) }
    const set: Op = { op: 'keyBudget', key: id, budget, ...change, ...label, atMs }
    await this.#apply(`${uuidV7(atMs)}:budget`, set, ...act)
    this.#forget()
  }

  #forget(): void {
    this.#changes++
    this.#found.clear()
  }

  /** Returns the active key with this secret: known, not revoked, not expired. Otherwise null, without a reason. */
  async find(secret: string): Promise<ApiKeyRecord | null> {
    if (!isKeySecret(secret)) return null
    const nowMs = this.#clock.now()
    const name = keyName(secret)
    const known = this.#found.get(name)
    const record =
      known && isAhead(known.untilMs, keyCacheMs, nowMs) ? known.record : await this.#look(name, secret, nowMs)
    return record && counts(record, nowMs) ? record : null
  }

  /**
   * Returns the keys of one account or of all, newest first, including revoked ones, at most `listedKeys`. Throws
   * `KeyRefused` if the account does not exist.
   */
  async list(account?: string): Promise<ApiKeyRecord[]> {
    const newest = this.#store.read.selectFrom('api_key').selectAll().orderBy('id', 'desc').limit(listedKeys)
    const rows = await (account === undefined ? newest : newest.where('account', '=', account)).execute()
    if (rows.length === 0 && account !== undefined) await this.#requireAccount(account)
    return rows.map(row => this.#recordOf(row))
  }

  async #requireAccount(id: string): Promise<void> {
    const found = await this.#store.read.selectFrom('account').select('id').where('id', '=', id).executeTakeFirst()
    if (!found) throw new KeyRefused('no_account')
  }

  /** Returns the keys of an account that are not revoked, newest first, at most `listedKeys`. */
  async kept(account: string): Promise<ApiKeyRecord[]> {
    const newest = this.#ofAccount(account).orderBy('id', 'desc').limit(listedKeys)
    return (await newest.execute()).map(row => this.#recordOf(row))
  }

  /** Returns a key of this account that is not revoked, or null. */
  async keptOne(account: string, id: string): Promise<ApiKeyRecord | null> {
    const row = await this.#ofAccount(account).where('id', '=', id).executeTakeFirst()
    return row ? this.#recordOf(row) : null
  }

  #ofAccount(account: string) {
    return this.#store.read
      .selectFrom('api_key')
      .selectAll()
      .where('account', '=', account)
      .where('revoked_at_ms', 'is', null)
  }

  /** Counts, over all active keys, which secret they need. */
  async needs(): Promise<Record<KeyNeeds, number>> {
    const found: Record<KeyNeeds, number> = { current: 0, former: 0, missing: 0 }
    const nowMs = this.#clock.now()
    for (const { mark, keys } of await liveKeysByMark(this.#store, nowMs)) found[this.#needsOf(mark)] += keys
    return found
  }

  /** Looks up all hashes that the secret can have, in one query; `name` is its key in the cache. */
  async #look(name: string, secret: string, nowMs: number): Promise<ApiKeyRecord | null> {
    const hashes = this.#hashes.map(each => each.hash(secret))
    const before = this.#changes
    const row = await keyRow(this.#store.read, ...hashes)
    if (!row || !hashes.some(hash => sameHash(row.hash, hash))) return null
    const plan = planNamed(row.plan)
    const record = { ...this.#recordOf(row), ...(plan ? { plan } : {}) }
    if (before === this.#changes) this.#found.set(name, { record, untilMs: nowMs + keyCacheMs })
    return record
  }

  #recordOf(row: Selectable<ApiKeyTable>): ApiKeyRecord {
    return {
      id: row.id,
      account: row.account,
      prefix: row.prefix,
      ending: row.ending,
      role: row.role,
      label: row.label,
      createdAtMs: row.created_at_ms,
      expiresAtMs: row.expires_at_ms,
      revokedAtMs: row.revoked_at_ms,
      budget: budgetOf(row),
      needs: this.#needsOf(markOf(row.hash)),
    }
  }

  #needsOf(mark: string): KeyNeeds {
    if (mark === this.#hashes[0].mark) return 'current'
    return this.#hashes.some(each => each.mark === mark) ? 'former' : 'missing'
  }

  async #apply(id: string, ...ops: readonly Op[]): Promise<void> {
    const outcome = await commitSurely(this.#store, { id, ops })
    if (!outcome.ok) throw new KeyRefused(outcome.why)
  }
}

const loweredTo = ({ id, budget, expiresAtMs }: ApiKeyRecord, keeps: KeyBudget, atMs: number): Op => ({
  op: 'keyBudget',
  key: id,
  budget: keeps,
  before: { budget, expiresAtMs },
  covers: periodStarts(atMs),
  atMs,
})

/** Half of a character, which the cut may leave, could not be stored. */
const labelOf = (label: string): string => label.slice(0, keyLabelCharacters).toWellFormed()

/** Whether a key is neither revoked nor expired. */
export const counts = (record: ApiKeyRecord, nowMs: number): boolean =>
  record.revokedAtMs === null && (record.expiresAtMs === null || nowMs < record.expiresAtMs)

const limitOf = (amount: bigint | null) => (amount === null ? null : microUsd(amount))

const budgetOf = ({
  budget_period: period,
  budget_usd,
  budget_staking_usd,
}: Selectable<ApiKeyTable>): KeyBudget | null =>
  period === null ? null : { period, usd: limitOf(budget_usd), staking: limitOf(budget_staking_usd) }

/** An operator who changes a key, for the audit log. */
export interface ByOperator {
  actor: string
}

const noted = ({ period, usd, staking }: KeyBudget) => {
  const text = (amount: MicroUsd | null) => (amount === null ? null : formatUsd(amount))
  return { period, usd: text(usd), staking: text(staking) }
}

/** A larger grant is treated as a typing mistake. */
export const mostGrantUsd = 1_000_000

export interface KeyOrder {
  /** Credit to give the account; zero for none. */
  amountMicroUsd: bigint
  label: string
  /** `INFERENCE` if absent. An `ADMIN` key manages its account's keys over the API and reads its bills. */
  role?: KeyRole
  /** The account of an additional key; absent for a new customer. */
  account?: string
  /** The part of its account's credit that this key may spend; all of it if absent. */
  budget?: KeyBudget
  /** When the key stops working; never if absent. */
  expiresAtMs?: number
  /** The operator, for the audit log; not recorded if absent. */
  by?: ByOperator
}

export interface NewCustomerKey {
  key: string
  keyId: string
  account: string
}

/**
 * Creates a key, and a new customer with a grant if no account is named, all in one unit of work, so that repeating a
 * failed order gives no credit twice. Throws `KeyRefused` if the named account does not exist, `WrongSecret` if the
 * ledger expects another secret.
 */
export async function createKey(
  service: { keys: ApiKeys; now: () => number },
  order: KeyOrder,
): Promise<NewCustomerKey> {
  await service.keys.requireSecret()
  const atMs = service.now()
  const account = order.account ?? `customer:${uuidV7(atMs)}`
  const ops: Op[] = order.account === undefined ? [{ op: 'account', account, kind: 'customer', atMs }] : []
  if (order.amountMicroUsd > 0n) {
    const amount = microUsd(order.amountMicroUsd)
    ops.push({ op: 'credit', account, amount, source: 'system:grant', ref: `grant:${uuidV7(atMs)}`, atMs })
  }
  const { label, role = 'INFERENCE', budget = null, expiresAtMs = null, by } = order
  const expires = expiresAtMs === null ? {} : { expires: textOfDay(expiresAtMs) }
  const after = { label, role, usd: formatUsd(order.amountMicroUsd), budget: budget && noted(budget), ...expires }
  const also = (key: string) => (by ? [noteAct({ ...by, act: 'key.create', account, subject: key, after }, atMs)] : [])
  const created = await service.keys.create({ account, label, role, expiresAtMs, budget, opening: ops, also })
  return { key: created.secret, keyId: created.id, account }
}

/** Longest label of a key (published contract). */
const keyLabelCharacters = 64

/** Most keys in one listing; the published contract allows 500 active ones. */
export const listedKeys = 1_000

/** How long a found key is cached. A revocation takes at most this long to reach other processes. */
const keyCacheMs = 1_000

/** Keys in that cache: more than one second's callers. */
const cachedKeys = 10_000
