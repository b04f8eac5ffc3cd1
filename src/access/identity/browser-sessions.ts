import type { Clock } from '#contract/time.ts'
import { hashOfSecret, newPageSecret } from '#host/pages/page-guards.ts'
import { RecentMap } from '#host/recent-map.ts'
import { commitSurely, type Store } from '#ledger/store/store.ts'
import type { UseNonce } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

/**
 * Both halves of a session that a browser keeps: the cookie, which the browser sends automatically, and the key, which
 * only the page has.
 */
export interface SessionSecrets {
  cookie: string
  key: string
}

/** The hash of a session's secrets, which are not stored, and when the session ends even if it is in use. */
export interface SessionMark {
  hash: string
  untilMs: number
}

interface SessionRules {
  /** The beginning of the marks' names; no two kinds of sessions share one. */
  prefix: string
  /** A session ends when it was not used for this long. */
  idleMs: number
  /** A session ends after this time even if it is in use. */
  wholeMs: number
  /** A use is recorded at most this often, so that a live page causes few writes. */
  useMs: number
}

type Mark = Omit<UseNonce, 'op'>

/** Uses that this process has written already. */
const rememberedUses = 10_000

/**
 * Browser sessions as rows in the ledger's store that are written once and expire. Every process of a service sees
 * them, they survive a restart, and a row contains hashes, never a secret. `subject` is who signed in, and `group`
 * names sessions that end together. Both may contain letters and `-._~:`, and a group's name ends with a colon.
 */
export class BrowserSessions {
  readonly #store: Store
  readonly #clock: Clock
  readonly #rules: SessionRules
  readonly #used = new RecentMap<true>(rememberedUses)

  constructor({ store, clock }: { store: Store; clock: Clock }, rules: SessionRules) {
    this.#store = store
    this.#clock = clock
    this.#rules = rules
  }

  /** Creates new secrets, even if the browser had some before. */
  async begin(subject: string, group: string): Promise<SessionSecrets> {
    const secrets = { cookie: newPageSecret(), key: newPageSecret() }
    const hash = hashOf(secrets)
    const expiresAtMs = this.#clock.now() + this.#rules.wholeMs
    await this.#mark([
      { key: `${this.#name('session', hash)}${subject}`, expiresAtMs },
      { key: `${this.#rules.prefix}group:${group}${hash}`, expiresAtMs },
      this.#useOf(hash),
    ])
    return secrets
  }

  /** Null for a session that has ended, was not used for too long or never existed; otherwise this counts as a use. */
  async find(secrets: SessionSecrets): Promise<(SessionMark & { subject: string }) | null> {
    const hash = hashOf(secrets)
    const [[session], uses, ended] = await Promise.all([
      this.#marks(this.#name('session', hash)),
      this.#marks(this.#name('use', hash)),
      this.#marks(this.#name('end', hash)),
    ])
    if (!session || uses.length === 0 || ended.length > 0) return null
    const use = this.#useOf(hash)
    if (!this.#used.get(use.key)) {
      await this.#mark([use])
      this.#used.set(use.key, true)
    }
    return { hash, untilMs: session.untilMs, subject: session.rest }
  }

  async end({ hash, untilMs }: SessionMark): Promise<void> {
    await this.#mark([{ key: this.#name('end', hash), expiresAtMs: untilMs }])
  }

  /** Ends every session of the groups with this prefix; returns the number of open ones. */
  async endGroup(group: string): Promise<number> {
    let open = 0
    for (const { rest, untilMs } of await this.#marks(`${this.#rules.prefix}group:${group}`)) {
      const hash = rest.slice(rest.lastIndexOf(':') + 1)
      const [uses, ended] = await Promise.all([
        this.#marks(this.#name('use', hash)),
        this.#marks(this.#name('end', hash)),
      ])
      if (ended.length > 0) continue
      if (uses.length > 0) open++
      await this.end({ hash, untilMs })
    }
    return open
  }

  #name(kind: 'session' | 'use' | 'end', hash: string): string {
    return `${this.#rules.prefix}${kind}:${hash}:`
  }

  #useOf(hash: string): Mark {
    const nowMs = this.#clock.now()
    const part = Math.floor(nowMs / this.#rules.useMs)
    return { key: `${this.#name('use', hash)}${part}`, expiresAtMs: nowMs + this.#rules.idleMs }
  }

  /** Marks whose name has this prefix and that have not expired; `rest` is the part after the prefix. */
  async #marks(start: string): Promise<{ rest: string; untilMs: number }[]> {
    const rows = await this.#store.read
      .selectFrom('nonce')
      .select(['id', 'expires_at_ms'])
      .where('id', '>=', start)
      // Every prefix ends with a colon; `;` is the next character.
      .where('id', '<', `${start.slice(0, -1)};`)
      .where('expires_at_ms', '>', this.#clock.now())
      .execute()
    return rows.map(row => ({ rest: row.id.slice(start.length), untilMs: row.expires_at_ms }))
  }

  /** A mark that already exists stays as it is. */
  async #mark(marks: readonly Mark[]): Promise<void> {
    const ops = marks.map(mark => ({ op: 'nonce' as const, ...mark }))
    await commitSurely(this.#store, { id: `${uuidV7(this.#clock.now())}/${this.#rules.prefix}session`, ops })
  }
}

const hashOf = ({ cookie, key }: SessionSecrets): string => hashOfSecret(`${cookie}.${key}`)
