import type { Clock } from '#contract/time.ts'
import { hashOfSecret, newPageSecret } from '#host/pages/page-guards.ts'
import { RecentMap } from '#host/recent-map.ts'
import type { Store } from '#ledger/store/store.ts'
import { type Mark, Marks } from './marks.ts'

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

/** Uses that this process has written already. */
const rememberedUses = 10_000

/**
 * Browser sessions as rows in the ledger's store that are written once and expire. Every process of a service sees
 * them, they survive a restart, and a row contains hashes, never a secret. `subject` is who signed in, and `group`
 * names sessions that end together. Both may contain letters and `-._~:`, and a group's name ends with a colon.
 */
export class BrowserSessions {
  readonly #marks: Marks
  readonly #clock: Clock
  readonly #rules: SessionRules
  readonly #used = new RecentMap<true>(rememberedUses)

  constructor({ store, clock }: { store: Store; clock: Clock }, rules: SessionRules) {
    this.#marks = new Marks({ store, clock })
    this.#clock = clock
    this.#rules = rules
  }

  /** Creates new secrets, even if the browser had some before. */
  async begin(subject: string, group: string): Promise<SessionSecrets> {
    const secrets = { cookie: newPageSecret(), key: newPageSecret() }
    const hash = sessionHash(secrets)
    const expiresAtMs = this.#clock.now() + this.#rules.wholeMs
    await this.#marks.write(
      { key: `${this.#name('session', hash)}${subject}`, expiresAtMs },
      { key: `${this.#rules.prefix}group:${group}${hash}`, expiresAtMs },
      this.#useOf(hash),
    )
    return secrets
  }

  /** Null for a session that has ended, was not used for too long or never existed; otherwise this counts as a use. */
  async find(secrets: SessionSecrets): Promise<(SessionMark & { subject: string }) | null> {
    const hash = sessionHash(secrets)
    const [[session], uses, ended] = await Promise.all([
      this.#marks.begin(this.#name('session', hash)),
      this.#marks.begin(this.#name('use', hash)),
      this.#marks.begin(this.#name('end', hash)),
    ])
    if (!session || uses.length === 0 || ended.length > 0) return null
    const use = this.#useOf(hash)
    if (!this.#used.get(use.key)) {
      await this.#marks.write(use)
      this.#used.set(use.key, true)
    }
    return { hash, untilMs: session.untilMs, subject: session.rest }
  }

  async end({ hash, untilMs }: SessionMark): Promise<void> {
    await this.#marks.write({ key: this.#name('end', hash), expiresAtMs: untilMs })
  }

  /** Ends every session of the groups with this prefix; returns the number of open ones. */
  async endGroup(group: string): Promise<number> {
    let open = 0
    for (const { rest, untilMs } of await this.#marks.begin(`${this.#rules.prefix}group:${group}`)) {
      const hash = rest.slice(rest.lastIndexOf(':') + 1)
      const [uses, ended] = await Promise.all([
        this.#marks.begin(this.#name('use', hash)),
        this.#marks.begin(this.#name('end', hash)),
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
}

/** Both secrets together, as a row names them. */
export const sessionHash = ({ cookie, key }: SessionSecrets): string => hashOfSecret(`${cookie}.${key}`)
