import type { PlanName } from '#contract/limits.ts'
import { type Clock, minuteMs } from '#contract/time.ts'
import { evmNetwork, normalizeWallet, solanaNetwork } from '#contract/wire/networks.ts'
import { readSignInHeader, type SignInClaim, type SignInCode } from '#contract/wire/sign-in.ts'
import { RecentMap } from '#host/recent-map.ts'
import { ed25519Key, ed25519Signature, isSignedByKey } from '#host/signatures/signatures.ts'
import { CustomerPlans, WalletAccounts, walletAccountId } from '#ledger/accounts/customers.ts'
import type { WalletPrincipal } from '#ledger/accounts/principal.ts'
import type { Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

type SignInResult = { ok: true; principal: WalletPrincipal } | { ok: false; code: SignInCode }

/** Returns the address, in lower case, that signed a text by EIP-191; null if the signature is invalid. */
export type SignerOf = (message: string, signature: string) => Promise<string | null>

interface SeenSignIn {
  message: string
  signature: string
  principal: WalletPrincipal
}

const nonceKey = (claim: SignInClaim): string => `siwx:${normalizeWallet(claim.address)}:${claim.nonce}`

/**
 * Wallet sign-in (brief §5.2): parses the header, then checks that the message is for this service and current, that
 * the wallet signed it, and that its nonce is new. A valid signature uses up the nonce, even if the request then fails.
 */
export class WalletSignIn {
  readonly #store: Store
  readonly #clock: Clock
  readonly #signerOf: SignerOf
  readonly #rules: ClaimRules
  readonly #planOf: (account: string) => PlanName
  readonly #accounts: WalletAccounts
  readonly #plans: CustomerPlans
  /** Verified sign-ins, so that a repeat costs no second verification. */
  readonly #seen = new RecentMap<SeenSignIn>(rememberedSignIns)

  constructor(options: {
    store: Store
    clock: Clock
    signerOf: SignerOf
    rules: ClaimRules
    planOf: (account: string) => PlanName
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#signerOf = options.signerOf
    this.#rules = options.rules
    this.#planOf = options.planOf
    this.#accounts = new WalletAccounts(options.store)
    this.#plans = new CustomerPlans(options.store)
  }

  /**
   * Returns the wallet that signed this header. Rejects only if the store fails, or with the error that `admitUnknown`
   * throws for a wallet without an account.
   */
  async signIn(header: string, admitUnknown: () => void = () => undefined): Promise<SignInResult> {
    const read = readSignInHeader(header)
    if (!read.ok) return read
    const { claim } = read
    const nowMs = this.#clock.now()
    const fault = claimFault(claim, this.#rules, nowMs)
    if (fault) return { ok: false, code: fault }
    const again = this.#again(claim)
    if (again) return again
    await this.#admit(claim, admitUnknown)
    return this.#anew(claim, nowMs)
  }

  /**
   * Returns what is known about a nonce without verifying the signature: it was used up, or its window is still open.
   */
  #again(claim: SignInClaim): SignInResult | null {
    const seen = this.#seen.get(nonceKey(claim))
    if (!seen) return null
    if (!this.#rules.window) return { ok: false, code: 'X402_SIGN_IN_NONCE_REUSED' }
    const isSame = seen.message === claim.message && seen.signature === claim.signature
    return isSame ? { ok: true, principal: seen.principal } : null
  }

  /**
   * An unknown wallet counts by its address. If that is blocked, its request is refused whether it signed or not, so its
   * signature is not worth the curve's arithmetic.
   */
  async #admit(claim: SignInClaim, admitUnknown: () => void): Promise<void> {
    try {
      admitUnknown()
    } catch (error) {
      if ((await this.#accounts.find(normalizeWallet(claim.address))) === null) throw error
    }
  }

  async #anew(claim: SignInClaim, nowMs: number): Promise<SignInResult> {
    const fault = await this.#signatureFault(claim)
    if (fault) return { ok: false, code: fault }
    const wallet = normalizeWallet(claim.address)
    if (!(await this.#useNonce(claim, nowMs))) return { ok: false, code: 'X402_SIGN_IN_NONCE_REUSED' }
    const known = await this.#accounts.find(wallet)
    const account = known ?? walletAccountId(wallet)
    const plan = known === null ? null : await this.#plans.of(known, nowMs)
    const principal: WalletPrincipal = {
      kind: 'wallet',
      account,
      wallet,
      ...(plan ? { plan, hasOwnPlan: true } : { plan: this.#planOf(account) }),
      isNew: known === null,
    }
    this.#seen.set(nonceKey(claim), { message: claim.message, signature: claim.signature, principal })
    return { ok: true, principal }
  }

  async #signatureFault(claim: SignInClaim): Promise<SignInCode | null> {
    if (claim.chainId === evmNetwork) {
      const signer = await this.#signerOf(claim.message, claim.signature)
      return signer === claim.address.toLowerCase() ? null : 'X402_SIGN_IN_INVALID_SIGNATURE'
    }
    const key = ed25519Key(claim.address)
    if (!key) return 'X402_SIGN_IN_INVALID_WALLET'
    const signature = ed25519Signature(claim.signature)
    const isSigned = signature !== null && (await isSignedByKey(key, claim.message, signature))
    return isSigned ? null : 'X402_SIGN_IN_INVALID_SIGNATURE'
  }

  /**
   * Uses up the nonce; false if it was used before. Opens no account, so a wallet that never pays leaves no row behind.
   */
  async #useNonce(claim: SignInClaim, nowMs: number): Promise<boolean> {
    if (this.#rules.window) return true
    const key = nonceKey(claim)
    const [outcome] = await this.#store.commit([
      {
        id: `${uuidV7(nowMs)}/sign-in`,
        ops: [{ op: 'nonce', key, expiresAtMs: lastUseMs(claim, this.#rules) }],
      },
    ])
    if (outcome?.ok) return true
    if (outcome?.why === 'nonce_used') return false
    throw new Error(`The store refused a sign-in: ${outcome?.why ?? 'no outcome'}.`)
  }
}

export interface ClaimRules {
  /** Hosts that a message may name; the request's own `Host` never counts. */
  domains: readonly string[]
  /** A header works until it expires, so its own expiry counts instead of its age. */
  window: boolean
  /** The one URI that a message may name; any on these hosts by default. */
  uri?: string
}

/** Returns what is wrong with a message, or null. Makes every check that needs no curve arithmetic. */
function claimFault(claim: SignInClaim, rules: ClaimRules, nowMs: number): SignInCode | null {
  if (claim.chainId !== evmNetwork && claim.chainId !== solanaNetwork) return 'X402_SIGN_IN_UNSUPPORTED_CHAIN'
  if (!isOurs(claim.domain, rules) || !isOurs(claim.uri, rules)) return 'X402_SIGN_IN_DOMAIN_MISMATCH'
  if (rules.uri !== undefined && claim.uri !== rules.uri) return 'X402_SIGN_IN_DOMAIN_MISMATCH'
  if (claim.nonce === '' || claim.nonce.length > nonceCharacters) return 'X402_SIGN_IN_MISSING_NONCE'
  // Each comparison is written so that NaN is refused.
  if (!(claim.issuedAtMs <= nowMs + clockSkewMs)) return 'X402_SIGN_IN_FUTURE_TIMESTAMP'
  if (claim.notBeforeMs !== null && !(claim.notBeforeMs <= nowMs + clockSkewMs)) return 'X402_SIGN_IN_NOT_BEFORE'
  if (!(nowMs <= lastUseMs(claim, rules))) return 'X402_SIGN_IN_EXPIRED'
  const { timestampMs } = claim
  if (timestampMs !== null && !(Math.abs(timestampMs - claim.issuedAtMs) <= timestampToleranceMs)) {
    return 'X402_SIGN_IN_TIMESTAMP_MISMATCH'
  }
  return null
}

/** Returns the last moment, by our clock, at which a message may be used; its nonce is kept until then. */
function lastUseMs({ issuedAtMs, expirationTimeMs }: SignInClaim, { window }: ClaimRules): number {
  const aged = issuedAtMs + signInAgeMs
  const ends = window
    ? Math.min(expirationTimeMs ?? aged, issuedAtMs + signInLifeMs)
    : Math.min(expirationTimeMs ?? aged, aged)
  return ends + clockSkewMs
}

/**
 * The host must be ours, and so must the port if one is named, because two services on one machine may differ only in
 * that. If there is a scheme, it must be http or https.
 */
function isOurs(text: string, { domains }: ClaimRules): boolean {
  const place = placeOf(text)
  if (place === null) return false
  return domains.some(domain => {
    const own = placeOf(domain)
    return own !== null && own.host === place.host && isSamePort(place.port, own.port)
  })
}

const defaultPorts: readonly (string | null)[] = ['80', '443']

const isSamePort = (named: string | null, own: string | null): boolean =>
  named === null || named === own || (own === null && defaultPorts.includes(named))

interface Place {
  host: string
  /** Null if the text names no port. */
  port: string | null
}

/**
 * Returns host and port of a domain or web address; null for another scheme, and for anything with a user name or a
 * space.
 */
function placeOf(text: string): Place | null {
  const match = /^(?:https?:\/\/)?([^\s:/?#@[\]\\]+|\[[\da-f:.]+\])(?::(\d{1,5}))?(?:[/?#][^\s\\]*)?$/i.exec(text)
  const [, host, port = null] = match ?? []
  return host === undefined ? null : { host: host.toLowerCase(), port }
}

/** How long after its `Issued At` a sign-in message is accepted, if a nonce works once (published contract §2.2). */
const signInAgeMs = 5 * minuteMs

/**
 * The longest life of a sign-in message, whatever the message claims (the longest that the published contract
 * recommends).
 */
const signInLifeMs = 10 * minuteMs

/** How far a caller's clock may be from ours, in either direction. */
const clockSkewMs = minuteMs

/** How far the envelope's `timestamp` may be from the signed `Issued At` (published contract §2.1). */
const timestampToleranceMs = 30 * 1000

/** Longest nonce: wallets use 16 characters, and the nonce becomes part of a row's id. */
const nonceCharacters = 128

/** Verified sign-ins to remember by nonce, so that a replay costs no curve arithmetic (some 20 MB of messages). */
const rememberedSignIns = 20_000
