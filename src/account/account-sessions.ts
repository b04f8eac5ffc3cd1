import { BrowserSessions, type SessionMark, type SessionSecrets } from '#access/identity/browser-sessions.ts'
import { type ApiKeyRecord, type ApiKeys, counts } from '#access/keys/api-keys.ts'
import { planOf } from '#access/limits/limit-rules.ts'
import type { AccessSettings } from '#access/payment-required.ts'
import { type Clock, hourMs, minuteMs } from '#contract/time.ts'
import { hashOfSecret } from '#host/pages/page-guards.ts'
import { CustomerPlans, WalletAccounts, walletAccountId } from '#ledger/accounts/customers.ts'
import { type KeyPrincipal, type Principal, subjectOf, type WalletPrincipal } from '#ledger/accounts/principal.ts'
import type { Store } from '#ledger/store/store.ts'

/** How a customer signed in: with an API key, or with a wallet that signed. */
type SignedInBy = { kind: 'key'; key: string } | { kind: 'wallet'; wallet: string }

export interface AccountSession extends SessionMark {
  /** The current state of its key or wallet. */
  principal: Principal
  /** The key that signed in; null for a wallet. */
  key: ApiKeyRecord | null
}

interface SessionParts {
  store: Store
  clock: Clock
  settings: Pick<AccessSettings, 'plan' | 'limits'>
  keys: Pick<ApiKeys, 'find' | 'keptOne'>
}

/** A hidden page requests nothing, so its session ends after this time. */
const idleMs = 30 * minuteMs
/** A session ends after this time even if it is in use. */
const sessionMs = 12 * hourMs
const useMs = 5 * minuteMs

/**
 * Customers' sessions. Each request reads the session's rights again: the session ends with its key, and sees an
 * account that its wallet gets in the meantime.
 */
export class AccountSessions {
  readonly #parts: SessionParts
  readonly #sessions: BrowserSessions
  readonly #wallets: WalletAccounts
  readonly #plans: CustomerPlans

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#sessions = new BrowserSessions(parts, { prefix: 'account-', idleMs, wholeMs: sessionMs, useMs })
    this.#wallets = new WalletAccounts(parts.store)
    this.#plans = new CustomerPlans(parts.store)
  }

  /** Returns the key's owner; null if the key is not valid. The key itself is not stored. */
  async ofKey(secret: string): Promise<KeyPrincipal | null> {
    const found = await this.#parts.keys.find(secret)
    const key = found && (await this.#currentKey(found.id))
    return key && this.#keyPrincipal(key)
  }

  /** Begins a session for a caller that has just been identified. */
  begin(principal: Principal): Promise<SessionSecrets> {
    return this.#sessions.begin(subjectOf(principal), groupOf(principal))
  }

  /** Null for a session that has ended, or whose key was revoked or has expired; otherwise this counts as a use. */
  async find(secrets: SessionSecrets): Promise<AccountSession | null> {
    const found = await this.#sessions.find(secrets)
    if (!found) return null
    const { hash, untilMs, subject } = found
    const by = signedInBy(subject)
    if (by.kind === 'wallet') return { hash, untilMs, key: null, principal: await this.ofWallet(by.wallet) }
    const key = await this.#currentKey(by.key)
    return key && { hash, untilMs, key, principal: await this.#keyPrincipal(key) }
  }

  /** The principal of a wallet that has signed; it need not have an account yet. */
  async ofWallet(wallet: string): Promise<WalletPrincipal> {
    const known = await this.#wallets.find(wallet)
    const account = known ?? walletAccountId(wallet)
    return { kind: 'wallet', account, wallet, isNew: known === null, ...(await this.#planned(account)) }
  }

  end(session: SessionMark): Promise<void> {
    return this.#sessions.end(session)
  }

  /** Ends all sessions of the account; an INFERENCE key ends only its own. */
  endAll({ principal }: AccountSession): Promise<number> {
    return this.#sessions.endGroup(seesAccount(principal) ? accountGroup(principal) : groupOf(principal))
  }

  async #currentKey(id: string): Promise<ApiKeyRecord | null> {
    const { store, keys, clock } = this.#parts
    const row = await store.read.selectFrom('api_key').select('account').where('id', '=', id).executeTakeFirst()
    const key = row ? await keys.keptOne(row.account, id) : null
    return key && counts(key, clock.now()) ? key : null
  }

  async #keyPrincipal({ account, id: keyId, role, budget }: ApiKeyRecord): Promise<KeyPrincipal> {
    return { kind: 'key', account, keyId, role, budget, ...(await this.#planned(account)) }
  }

  async #planned(account: string) {
    const { settings, clock } = this.#parts
    const plan = await this.#plans.of(account, clock.now())
    return plan ? { plan, hasOwnPlan: true } : { plan: planOf(settings.limits, account, settings.plan) }
  }
}

/** A wallet and an ADMIN key see the whole account and manage its keys; an INFERENCE key sees its own requests. */
export const seesAccount = (principal: Principal): boolean => principal.kind === 'wallet' || principal.role === 'ADMIN'

function signedInBy(subject: string): SignedInBy {
  const [kind, name = ''] = subject.split(':')
  return kind === 'wallet' ? { kind, wallet: name } : { kind: 'key', key: name }
}

const accountGroup = ({ account }: Principal): string => `${hashOfSecret(account)}:`

const groupOf = (principal: Principal): string => `${accountGroup(principal)}${hashOfSecret(subjectOf(principal))}:`
