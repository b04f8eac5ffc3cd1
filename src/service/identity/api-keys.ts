import type { Clock } from '#contract/clock.ts'
import { RecentMap } from '../recent-map.ts'
import type { Store } from '../store/store.ts'
import type { Refusal } from '../store/units.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { cachedKeys, keyCacheMs, keyLabelCharacters, listedKeys } from './bounds.ts'
import { isKeySecret, type KeyHash, keyHash, keyPrefix, newKeySecret, sameHash } from './key-secret.ts'

export interface ApiKeyRecord {
  id: string
  account: string
  prefix: string
  label: string
  createdAtMs: number
  /** Null where it never expires. */
  expiresAtMs: number | null
  revokedAtMs: number | null
}

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
    await this.#apply(`${id}:key`, { op: 'key', key: id, hash: this.#hashes[0](secret), atMs, ...key })
    return { id, ...key, createdAtMs: atMs, revokedAtMs: null, secret }
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
    for (const hashOf of this.#hashes) {
      const record = await this.#findByHash(hashOf(secret), nowMs)
      if (record) return counts(record, nowMs) ? record : null
    }
    return null
  }

  /** Newest first, revoked ones included. */
  async list(account: string): Promise<ApiKeyRecord[]> {
    const rows = await this.#store.read
      .selectFrom('api_key')
      .selectAll()
      .where('account', '=', account)
      .orderBy('id', 'desc')
      .limit(listedKeys)
      .execute()
    return rows.map(recordOf)
  }

  async #findByHash(hash: string, nowMs: number): Promise<ApiKeyRecord | null> {
    const known = this.#found.get(hash)
    if (known && nowMs < known.untilMs) return known.record
    const before = this.#revocations
    const row = await this.#store.read.selectFrom('api_key').selectAll().where('hash', '=', hash).executeTakeFirst()
    if (!row || !sameHash(row.hash, hash)) return null
    const record = recordOf(row)
    if (before === this.#revocations) this.#found.set(hash, { record, untilMs: nowMs + keyCacheMs })
    return record
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
  created_at_ms: number
  expires_at_ms: number | null
  revoked_at_ms: number | null
}

const recordOf = (row: KeyRow): ApiKeyRecord => ({
  id: row.id,
  account: row.account,
  prefix: row.prefix,
  label: row.label,
  createdAtMs: row.created_at_ms,
  expiresAtMs: row.expires_at_ms,
  revokedAtMs: row.revoked_at_ms,
})
