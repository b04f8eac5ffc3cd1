import type { Selectable } from 'kysely'
import { microUsd } from '#contract/money.ts'
import type { KeyRole } from '#contract/operations/keys.ts'
import type { Clock } from '#contract/time.ts'
import { RecentMap } from '#host/recent-map.ts'
import { periodStarts } from '#ledger/accounts/keys.ts'
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
  liveKeysByMark,
  markOf,
  newKeySecret,
  sameHash,
  secretToNote,
} from './server-secret.ts'

export interface ApiKeyRecord {
  id: string
  account: string
  prefix: string
  /** The last characters of the secret; empty for a key of an older release. */
  ending: string
  role: KeyRole
  label: string
  createdAtMs: number
  /** Null where it never expires. */
  expiresAtMs: number | null
  revokedAtMs: number | null
  /** Null where the key may spend what its account has. */
  budget: KeyBudget | null
  /** Which of the server's secrets it needs. */
  needs: KeyNeeds
}

/**
 * `former` stops with that secret; `missing` needs one that is not at hand, dropped or another service's. `unmarked` was
 * made by the first release, which did not write down which one.
 */
export type KeyNeeds = 'current' | 'former' | 'missing' | 'unmarked'

export interface NewKey {
  account: string
  label: string
  /** `INFERENCE` where absent. */
  role?: KeyRole
  expiresAtMs: number | null
  budget?: KeyBudget | null
  /** Most keys that count which the account may have, this one included; any number where absent. */
  mostActive?: number
  /** What has to exist before the key does, in the same unit: its account, and the credit of that. */
  opening?: readonly Op[]
  /** The key that gives the new one its budget, and what it keeps of its own: set in the same unit, or neither is. */
  giver?: { key: ApiKeyRecord; keeps: KeyBudget }
}

/** `secret` is the only copy there is. */
export interface CreatedKey extends ApiKeyRecord {
  secret: string
}

/** Why a key could not be made or revoked, as the store says it. */
export class KeyRefused extends Error {
  readonly why: Refusal

  constructor(why: Refusal) {
    super(`The store refused the key: ${why}.`)
    this.name = 'KeyRefused'
    this.why = why
  }
}

/** What of a key its owner may change beside its budget. */
export interface KeyChange {
  label?: string
  expiresAtMs?: number | null
  /** The key that the change was made for: where it is another by now, the change is refused as `key_moved`. */
  before?: KeyState
}

interface Found {
  record: ApiKeyRecord
  untilMs: number
}

const keyRow = groupedRead(
  (read, hashes) => read.selectFrom('api_key').selectAll().where('hash', 'in', hashes),
  row => row.hash,
)

/** API keys (brief §5.1): made, found by their secret, revoked, listed. */
export class ApiKeys {
  readonly #store: Store
  readonly #clock: Clock
  /** The first makes new hashes; the others are former secrets whose keys still count. */
  readonly #hashes: readonly [KeyHash, ...KeyHash[]]
  readonly #found = new RecentMap<Found>(cachedKeys)
  /** Grows with every change of a key, so that a look-up which began before it is not remembered after it. */
  #changes = 0

  constructor(options: {
    store: Store
    clock: Clock
    /** The server's secret; after a rotation the former ones follow. */
    serverSecrets: readonly [Uint8Array, ...Uint8Array[]]
  }) {
    this.#store = options.store
    this.#clock = options.clock
    const [current, ...former] = options.serverSecrets
    this.#hashes = [keyHash(current), ...former.map(keyHash)]
  }

  /** Throws `WrongSecret` where keys that are made now would open nothing in the other services of this ledger. */
  async requireSecret(): Promise<void> {
    const [current, ...former] = this.#hashes
    await secretToNote(this.#store, [current.mark, ...former.map(({ mark }) => mark)], this.#clock.now())
  }

  /**
   * The account must exist. Throws `KeyRefused` where the store does not take it: as `key_moved` where the giver is another
   * by now, as `over_budget` where it has used more than it would keep.
   */
  async create(order: NewKey): Promise<CreatedKey> {
    const { account, role = 'INFERENCE', expiresAtMs, budget = null, opening = [], giver } = order
    const atMs = this.#clock.now()
    const secret = newKeySecret()
    const id = uuidV7(atMs)
    const shown = { prefix: keyPrefix(secret), ending: keyEnding(secret), label: labelOf(order.label) }
    const key = { account, ...shown, role, expiresAtMs, budget }
    const most = order.mostActive === undefined ? {} : { mostActive: order.mostActive }
    const made: Op = { op: 'key', key: id, hash: this.#hashes[0].hash(secret), atMs, ...key, ...most }
    const lowered = giver ? [loweredTo(giver.key, giver.keeps, atMs)] : []
    await this.#apply(`${id}:key`, ...opening, ...lowered, made)
    if (giver) this.#forget()
    return { id, ...key, createdAtMs: atMs, revokedAtMs: null, needs: 'current', secret }
  }

  /** At once in this process, within a second in others. A key that is revoked again keeps its first date. */
  async revoke(id: string): Promise<void> {
    const atMs = this.#clock.now()
    await this.#apply(`${uuidV7(atMs)}:revoke`, { op: 'revokeKey', key: id, atMs })
    this.#forget()
  }

  /**
   * At once in this process, within a second in others. A budget that is null takes the limits away; what else is absent
   * stays. Throws `KeyRefused`.
   */
  async setBudget(id: string, budget: KeyBudget | null, more: KeyChange = {}): Promise<void> {
    const atMs = this.#clock.now()
    const label = more.label === undefined ? {} : { label: labelOf(more.label) }
    await this.#apply(`${uuidV7(atMs)}:budget`, { op: 'keyBudget', key: id, budget, ...more, ...label, atMs })
    this.#forget()
  }

  #forget(): void {
    this.#changes++
    this.#found.clear()
  }

  /** The key of this secret while it counts: known, not revoked, not expired. Null otherwise, without saying which. */
  async find(secret: string): Promise<ApiKeyRecord | null> {
    if (!isKeySecret(secret)) return null
    const nowMs = this.#clock.now()
    const name = keyName(secret)
    const known = this.#found.get(name)
    const record = known && nowMs < known.untilMs ? known.record : await this.#look(name, secret, nowMs)
    return record && counts(record, nowMs) ? record : null
  }

  /** Newest first, revoked ones included; of one account, or of all. At most `listedKeys`. Throws `KeyRefused` for no account. */
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

  /** Of one account, newest first, without those that were revoked. At most `listedKeys`. */
  async kept(account: string): Promise<ApiKeyRecord[]> {
    const newest = this.#ofAccount(account).orderBy('id', 'desc').limit(listedKeys)
    return (await newest.execute()).map(row => this.#recordOf(row))
  }

  /** A key of this account that has not been revoked, or null. */
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

  /** Of every key that still counts, how many need which secret. */
  async needs(): Promise<Record<KeyNeeds, number>> {
    const found: Record<KeyNeeds, number> = { current: 0, former: 0, missing: 0, unmarked: 0 }
    const nowMs = this.#clock.now()
    for (const { mark, keys } of await liveKeysByMark(this.#store, nowMs)) found[this.#needsOf(mark)] += keys
    return found
  }

  /** One look for all hashes that the secret can have; the name is what it is remembered by. */
  async #look(name: string, secret: string, nowMs: number): Promise<ApiKeyRecord | null> {
    const hashes = this.#hashes.flatMap(each => each.everyHash(secret))
    const before = this.#changes
    const row = await keyRow(this.#store.read, ...hashes)
    if (!row || !hashes.some(hash => sameHash(row.hash, hash))) return null
    const record = this.#recordOf(row)
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

  #needsOf(mark: string | null): KeyNeeds {
    if (mark === null) return 'unmarked'
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

const labelOf = (label: string): string => label.slice(0, keyLabelCharacters)

/** Neither revoked nor expired. */
export const counts = (record: ApiKeyRecord, nowMs: number): boolean =>
  record.revokedAtMs === null && (record.expiresAtMs === null || nowMs < record.expiresAtMs)

const limitOf = (amount: bigint | null) => (amount === null ? null : microUsd(amount))

const budgetOf = ({
  budget_period: period,
  budget_usd,
  budget_staking_usd,
}: Selectable<ApiKeyTable>): KeyBudget | null =>
  period === null ? null : { period, usd: limitOf(budget_usd), staking: limitOf(budget_staking_usd) }

/** More than this at once is a slip of the hand. */
export const mostGrantUsd = 1_000_000

export interface KeyOrder {
  /** Credit that the account is given; zero for none. */
  amountMicroUsd: bigint
  label: string
  /** `INFERENCE` where absent; an `ADMIN` key makes and ends keys of its account over the API, and reads its bills. */
  role?: KeyRole
  /** Another key of this account; absent for a new customer. */
  account?: string
  /** What this key may spend of its account's credit; all of it where absent. */
  budget?: KeyBudget
}

export interface NewCustomerKey {
  key: string
  keyId: string
  account: string
}

/**
 * A key, of a new customer where the order names none, with its credit as a grant: all of it in one unit, so that a
 * reader who repeats an order that failed gives no credit twice. Throws `KeyRefused` where the account that was named
 * does not exist, `WrongSecret` where the ledger expect another secret.
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
  const { label, role = 'INFERENCE', budget = null } = order
  const created = await service.keys.create({ account, label, role, expiresAtMs: null, budget, opening: ops })
  return { key: created.secret, keyId: created.id, account }
}

/** Characters of a key's label, as the published contract has it. */
export const keyLabelCharacters = 64

/** Keys that one account may list at once; the published contract allows 500 active ones. */
export const listedKeys = 1_000

/** How long a key that was found may be used without looking again: revocation in another process takes no longer. */
export const keyCacheMs = 1_000

/** Keys in that cache: more than one second of callers. */
export const cachedKeys = 10_000
