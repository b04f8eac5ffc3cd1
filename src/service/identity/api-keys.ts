import { sql } from 'kysely'
import type { Clock } from '#contract/clock.ts'
import { RecentMap } from '../recent-map.ts'
import type { Store } from '../store/store.ts'
import type { Refusal } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { cachedKeys, keyCacheMs, keyLabelCharacters, listedKeys } from './bounds.ts'
import { isKeySecret, type KeyHash, keyHash, keyPrefix, markOf, newKeySecret, sameHash } from './key-secret.ts'

export interface ApiKeyRecord {
  id: string
  account: string
  prefix: string
  label: string
  createdAtMs: number
  /** Null where it never expires. */
  expiresAtMs: number | null
  revokedAtMs: number | null
  /** Which of the server's secrets it needs. */
  needs: KeyNeeds
}

/**
 * `former` stops with that secret, and `dropped` has stopped with it. `unmarked` was made by the first release, which did
 * not write down which one.
 */
export type KeyNeeds = 'current' | 'former' | 'dropped' | 'unmarked'

export interface NewKey {
  account: string
  label: string
  expiresAtMs: number | null
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

interface Found {
  record: ApiKeyRecord
  untilMs: number
}

/** API keys (brief §5.1): made, found by their secret, revoked, listed. */
export class ApiKeys {
  readonly #store: Store
  readonly #clock: Clock
  /** The first makes new hashes; the others are former secrets whose keys still count. */
  readonly #hashes: readonly [KeyHash, ...KeyHash[]]
  readonly #found = new RecentMap<Found>(cachedKeys)
  /** Grows with every revocation, so that a look-up which began before it is not remembered after it. */
  #revocations = 0

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

  /** The account must exist. Throws `KeyRefused` where the store does not take it. */
  async create({ account, label, expiresAtMs }: NewKey): Promise<CreatedKey> {
    const atMs = this.#clock.now()
    const secret = newKeySecret()
    const id = uuidV7(atMs)
    const key = { account, prefix: keyPrefix(secret), label: label.slice(0, keyLabelCharacters), expiresAtMs }
    await this.#apply(`${id}:key`, { op: 'key', key: id, hash: this.#hashes[0].hash(secret), atMs, ...key })
    return { id, ...key, createdAtMs: atMs, revokedAtMs: null, needs: 'current', secret }
  }

  /** At once in this process, within a second in others. A key that is revoked again keeps its first date. */
  async revoke(id: string): Promise<void> {
    const atMs = this.#clock.now()
    await this.#apply(`${uuidV7(atMs)}:revoke`, { op: 'revokeKey', key: id, atMs })
    this.#revocations++
    this.#found.clear()
  }

  /** The key of this secret while it counts: known, not revoked, not expired. Null otherwise, without saying which. */
  async find(secret: string): Promise<ApiKeyRecord | null> {
    if (!isKeySecret(secret)) return null
    const nowMs = this.#clock.now()
    const hashes = this.#hashes.flatMap(each => [each.hash(secret), each.unmarkedHash(secret)])
    const record = await this.#findByHash(hashes, nowMs)
    return record && counts(record, nowMs) ? record : null
  }

  /** Newest first, revoked ones included; of one account, or of all. At most `listedKeys`. */
  async list(account?: string): Promise<ApiKeyRecord[]> {
    const newest = this.#store.read.selectFrom('api_key').selectAll().orderBy('id', 'desc').limit(listedKeys)
    const rows = await (account === undefined ? newest : newest.where('account', '=', account)).execute()
    return rows.map(row => this.#recordOf(row))
  }

  /** Of every key that still counts, how many need which secret. */
  async needs(): Promise<Record<KeyNeeds, number>> {
    const found: Record<KeyNeeds, number> = { current: 0, former: 0, dropped: 0, unmarked: 0 }
    const nowMs = this.#clock.now()
    const mark = sql<string>`substr(hash, 1, 9)`
    const rows = await this.#store.read
      .selectFrom('api_key')
      .select([mark.as('mark'), sql<number>`count(*)`.as('keys')])
      .where('revoked_at_ms', 'is', null)
      .where(where => where.or([where('expires_at_ms', 'is', null), where('expires_at_ms', '>', nowMs)]))
      .groupBy(mark)
      .execute()
    for (const row of rows) found[this.#needsOf(row.mark)] += Number(row.keys)
    return found
  }

  /** One look for all hashes that the secret can have; the first of them is what it is remembered by. */
  async #findByHash(hashes: readonly string[], nowMs: number): Promise<ApiKeyRecord | null> {
    const [name = ''] = hashes
    const known = this.#found.get(name)
    if (known && nowMs < known.untilMs) return known.record
    const before = this.#revocations
    const row = await this.#store.read.selectFrom('api_key').selectAll().where('hash', 'in', hashes).executeTakeFirst()
    if (!row || !hashes.some(hash => sameHash(row.hash, hash))) return null
    const record = this.#recordOf(row)
    if (before === this.#revocations) this.#found.set(name, { record, untilMs: nowMs + keyCacheMs })
    return record
  }

  #recordOf(row: KeyRow): ApiKeyRecord {
    return {
      id: row.id,
      account: row.account,
      prefix: row.prefix,
      label: row.label,
      createdAtMs: row.created_at_ms,
      expiresAtMs: row.expires_at_ms,
      revokedAtMs: row.revoked_at_ms,
      needs: this.#needsOf(row.hash),
    }
  }

  #needsOf(hash: string): KeyNeeds {
    const mark = markOf(hash)
    if (mark === null) return 'unmarked'
    if (mark === this.#hashes[0].mark) return 'current'
    return this.#hashes.some(each => each.mark === mark) ? 'former' : 'dropped'
  }

  async #apply(id: string, op: Parameters<Store['commit']>[0][number]['ops'][number]): Promise<void> {
    const [outcome] = await this.#store.commit([{ id, ops: [op] }])
    if (outcome && !outcome.ok) throw new KeyRefused(outcome.why)
  }
}

const counts = (record: ApiKeyRecord, nowMs: number): boolean =>
  record.revokedAtMs === null && (record.expiresAtMs === null || nowMs < record.expiresAtMs)

interface KeyRow {
  id: string
  account: string
  prefix: string
  label: string
  hash: string
  created_at_ms: number
  expires_at_ms: number | null
  revoked_at_ms: number | null
}
