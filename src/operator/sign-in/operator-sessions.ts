import { type SessionSecrets, sessionHash } from '#access/identity/browser-sessions.ts'
import { type Mark, Marks } from '#access/identity/marks.ts'
import { type Clock, hourMs, minuteMs } from '#contract/time.ts'
import { hashOfSecret, newPageSecret } from '#host/pages/page-guards.ts'
import { RecentMap } from '#host/recent-map.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { type OperatorRole, operatorRoles, type SignedInBy, waysIn } from '#pages/console/wire.ts'
import { refuse } from '../operator-refused.ts'
import { type NamedOperator, readOperator } from './operator-rows.ts'

/** A user of the console. */
export interface Operator {
  role: OperatorRole
  /** The name in the log: the operator's, or that of the machine's user who created the link. */
  by: string
}

/** The operator that a link is for. */
export interface LinkOrder {
  /** The operator's own role if absent, or `owner` if there is no such operator. */
  role?: OperatorRole | undefined
  by: string
  /** Whether an operator of this name must exist. */
  named?: boolean | undefined
}

interface Signed extends Operator {
  /** The named operator's epoch; empty for a link without a named operator. */
  epoch: string
  how: SignedInBy
}

export interface OperatorSession extends Operator {
  /** The hash of the session's secrets, which are not stored. */
  hash: string
  how: SignedInBy
  untilMs: number
}

/** How long a link works; it is normally opened at once. */
export const linkMs = 5 * minuteMs
/** A closed or hidden console sends no requests; its session ends after this time. */
export const idleMs = 30 * minuteMs
/** A session ends after this even if it is in use, so that a forgotten one ends with the working day. */
export const sessionMs = 8 * hourMs
/** How long a proof is accepted for actions that require a recent one. */
export const proofMs = 5 * minuteMs
/** A use is recorded at most this often, so that a live page causes few writes. */
const useMs = 5 * minuteMs
/** Recently recorded uses of this process. */
const rememberedUses = 1_000
const nameCharacters = 64

/**
 * Links and sessions as rows in the ledger's store that are written once and expire. Every process of a service sees
 * them, they survive a restart, and only one browser can use a link. A row contains hashes, never a secret.
 */
export class OperatorSessions {
  readonly #store: Store
  readonly #clock: Clock
  readonly #marks: Marks
  readonly #used = new RecentMap<true>(rememberedUses)

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store
    this.#clock = clock
    this.#marks = new Marks({ store, clock })
  }

  /** Returns the token of a new link. A named operator already has a role; a link may grant a lower one. */
  async newLink({ role, by, named: mustBeNamed }: LinkOrder): Promise<string> {
    const name = plainName(by)
    const named = await readOperator(this.#store, name)
    if (!named && mustBeNamed)
      throw refuse(`There is no operator ${name}; add one with \`farebox console operators add ${name}\`.`)
    if (named && role && lowerOf(role, named.role) !== role)
      throw refuse(`${name} has the role ${named.role}; a link cannot give a higher one.`)
    const token = newPageSecret()
    const rest = restOf({ role: role ?? named?.role ?? 'owner', by: name, epoch: named?.epoch ?? '', how: 'link' })
    await this.#marks.write({
      key: `${linkMark(hashOfSecret(token))}${rest}`,
      expiresAtMs: this.#now() + linkMs,
    })
    return token
  }

  /** Starts a session with new secrets; null if the link was used, is too old or does not exist. */
  async spend(token: unknown): Promise<(SessionSecrets & Operator) | null> {
    if (typeof token !== 'string') return null
    const hash = hashOfSecret(token)
    const [link] = await this.#marks.begin(linkMark(hash))
    const signed = link && signedOf(link.rest)
    const current = signed && (await this.#current(signed))
    if (!link || !signed || !current) return null
    return this.#begin(signed, { key: spentMark(hash), expiresAtMs: link.untilMs })
  }

  /** Starts a session for a user who proved to be this operator. */
  begin({ name, epoch }: NamedOperator, how: SignedInBy): Promise<(SessionSecrets & Operator) | null> {
    return this.#begin({ role: 'owner', by: name, epoch, how })
  }

  async #begin(signed: Signed, ...spent: Mark[]): Promise<(SessionSecrets & Operator) | null> {
    const secrets = { cookie: newPageSecret(), key: newPageSecret() }
    const session = sessionHash(secrets)
    const isFirst = await this.#marks.write(
      ...spent,
      { key: `${sessionMark(session)}${restOf(signed)}`, expiresAtMs: this.#now() + sessionMs },
      this.#useOf(session),
      this.#proofOf(session),
    )
    return isFirst ? { ...secrets, role: signed.role, by: signed.by } : null
  }

  /** Null if the session ended, was idle for too long or does not exist; otherwise this counts as a use. */
  async find(secrets: SessionSecrets): Promise<OperatorSession | null> {
    const hash = sessionHash(secrets)
    const [[session], uses, ended] = await Promise.all([
      this.#marks.begin(sessionMark(hash)),
      this.#marks.begin(useMark(hash)),
      this.#marks.begin(endMark(hash)),
    ])
    const signed = session && signedOf(session.rest)
    if (!signed || uses.length === 0 || ended.length > 0) return null
    const operator = await this.#current(signed)
    if (!operator) return null
    const use = this.#useOf(hash)
    if (!this.#used.get(use.key)) {
      await this.#marks.write(use)
      this.#used.set(use.key, true)
    }
    return { hash, ...operator, how: signed.how, untilMs: session.untilMs }
  }

  /** The operator's current state: a removed or reset operator has no session, and a lower role applies at once. */
  async #current({ role, by, epoch }: Signed): Promise<Operator | null> {
    if (epoch === '') return { role, by }
    const named = await readOperator(this.#store, by)
    return named?.epoch === epoch ? { role: lowerOf(role, named.role), by } : null
  }

  /** Records that this session's operator has just proved their identity again. */
  async prove(hash: string): Promise<void> {
    await this.#marks.write(this.#proofOf(hash))
  }

  async isProven(hash: string): Promise<boolean> {
    return (await this.#marks.begin(proofMark(hash))).length > 0
  }

  async end({ hash, untilMs }: Pick<OperatorSession, 'hash' | 'untilMs'>): Promise<void> {
    await this.#marks.write({ key: endMark(hash), expiresAtMs: untilMs })
  }

  /** Sessions that have not ended, newest first. */
  async list(): Promise<(OperatorSession & { usedAtMs: number })[]> {
    const [sessions, uses, ended] = await Promise.all(
      ['session', 'use', 'end'].map(kind => this.#marks.begin(`${prefix}${kind}:`)),
    )
    const gone = new Set(ended?.map(({ rest }) => hashOfMark(rest)))
    const used = new Map<string, number>()
    for (const { rest, untilMs } of uses ?? []) {
      const hash = hashOfMark(rest)
      used.set(hash, Math.max(used.get(hash) ?? 0, untilMs - idleMs))
    }
    const live = (sessions ?? []).flatMap(({ rest, untilMs }) => {
      const hash = hashOfMark(rest)
      const [signed, usedAtMs] = [signedOf(rest.slice(hash.length + 1)), used.get(hash)]
      return signed && usedAtMs !== undefined && !gone.has(hash) ? [{ hash, signed, untilMs, usedAtMs }] : []
    })
    const current = await Promise.all(
      live.map(async ({ hash, signed, untilMs, usedAtMs }) => {
        const operator = await this.#current(signed)
        return operator ? [{ hash, ...operator, how: signed.how, untilMs, usedAtMs }] : []
      }),
    )
    return current.flat().sort((one, other) => other.untilMs - one.untilMs)
  }

  /** Ends every session and link of this name, including those without a named operator's row. */
  async endOf(name: string): Promise<void> {
    for (const kind of ['session', 'link'] as const)
      for (const { rest, untilMs } of await this.#marks.begin(`${prefix}${kind}:`)) {
        const hash = hashOfMark(rest)
        if (signedOf(rest.slice(hash.length + 1))?.by !== name) continue
        const key = kind === 'session' ? endMark(hash) : spentMark(hash)
        await this.#marks.write({ key, expiresAtMs: untilMs })
      }
  }

  /** Ends every session and unused link; returns the number of sessions. */
  async endAll(): Promise<number> {
    const live = await this.list()
    const [sessions, links] = await Promise.all([
      this.#marks.begin(`${prefix}session:`),
      this.#marks.begin(`${prefix}link:`),
    ])
    for (const { rest, untilMs } of sessions) await this.end({ hash: hashOfMark(rest), untilMs })
    for (const { rest, untilMs } of links)
      await this.#marks.write({ key: spentMark(hashOfMark(rest)), expiresAtMs: untilMs })
    return live.length
  }

  #now(): number {
    return this.#clock.now()
  }

  /** The mark of a use in the current interval of `useMs`; it expires when an unused session would end. */
  #useOf(hash: string): Mark {
    const part = Math.floor(this.#now() / useMs)
    return { key: `${useMark(hash)}${part}`, expiresAtMs: this.#now() + idleMs }
  }

  #proofOf(hash: string): Mark {
    return { key: `${proofMark(hash)}${uuidV7(this.#now())}`, expiresAtMs: this.#now() + proofMs }
  }
}

const prefix = 'console-'
const linkMark = (hash: string) => `${prefix}link:${hash}:`
const spentMark = (hash: string) => `${prefix}spent:${hash}:`
const sessionMark = (hash: string) => `${prefix}session:${hash}:`
const useMark = (hash: string) => `${prefix}use:${hash}:`
const endMark = (hash: string) => `${prefix}end:${hash}:`
const proofMark = (hash: string) => `${prefix}proof:${hash}:`

const hashOfMark = (rest: string): string => rest.slice(0, rest.indexOf(':'))

const plainName = (by: string): string => by.replaceAll(/[^\w.@+-]/g, '_').slice(0, nameCharacters) || 'unknown'

const lowerOf = (one: OperatorRole, other: OperatorRole): OperatorRole =>
  operatorRoles.indexOf(one) <= operatorRoles.indexOf(other) ? one : other

const restOf = ({ role, by, epoch, how }: Signed): string => `${role}:${by}:${epoch}:${how}`

function signedOf(rest: string): Signed | null {
  const [named, by = '', epoch = '', way] = rest.split(':')
  const role = operatorRoles.find(each => each === named)
  const how = waysIn.find(each => each === way)
  return role && how ? { role, by, epoch, how } : null
}
