import { randomBytes } from 'node:crypto'
import { authenticationFailed, invalidSignIn, paymentHeaderNotAccepted } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { PlanName } from '#contract/limits.ts'
import { type Operation, readsKey } from '#contract/operations/operation.ts'
import { type Clock, minuteMs } from '#contract/time.ts'
import type { HeaderReader } from '#contract/wire/header-codec.ts'
import { authorization, legacySignInWithX, paymentHeaderNames, signInWithX } from '#contract/wire/headers.ts'
import { evmNetwork, solanaNetwork } from '#contract/wire/networks.ts'
import type { SignInCode } from '#contract/wire/sign-in.ts'
import { evmSigners } from '#host/signatures/evm-signature.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { Store } from '#ledger/store/store.ts'
import type { ApiKeys } from '../keys/api-keys.ts'
import { planOf } from '../limits/limit-rules.ts'
import type { AccessSettings, SignInChallenge } from '../payment-required.ts'
import { type ClaimRules, type SignerOf, WalletSignIn } from './wallet-sign-in.ts'

type IdentitySettings = Pick<AccessSettings, 'publicUrl' | 'signInDomains' | 'signInWindow' | 'plan' | 'limits'>

/** Identifies the caller by the request's headers and the operation that it calls (published contract §2.5). */
export class CallerIdentity implements Identity {
  readonly signerOf: SignerOf
  readonly #store: Store
  readonly #keys: ApiKeys
  readonly #clock: Clock
  readonly #settings: IdentitySettings
  readonly #wallets: WalletSignIn

  constructor(options: {
    store: Store
    clock: Clock
    keys: ApiKeys
    settings: IdentitySettings
    /** Defaults to computing it here, by the curve's arithmetic. */
    signerOf?: SignerOf
  }) {
    const { store, clock, keys, settings } = options
    this.signerOf = options.signerOf ?? recoveredSigner
    this.#store = store
    this.#keys = keys
    this.#clock = clock
    this.#settings = settings
    this.#wallets = this.#signInBy({ domains: settings.signInDomains, window: settings.signInWindow })
  }

  /**
   * Sign-ins of a page on this host: a message must name the page's own URI, so that a header for the API cannot begin
   * a session. Each message works once, whatever the settings say.
   */
  pageSignIn(uri: string): WalletSignIn {
    return this.#signInBy({ domains: [new URL(uri).host], window: false, uri })
  }

  #signInBy(rules: ClaimRules): WalletSignIn {
    const { signerOf } = this
    return new WalletSignIn({
      ...{ store: this.#store, clock: this.#clock, signerOf, rules },
      planOf: account => this.#planOf(account),
    })
  }

  /**
   * Returns null without a credential of a kind that the operation accepts. Throws 400 for contradictory headers, 401
   * for a wrong credential, and what `admitUnknown` throws for a wallet without an account.
   */
  async identify(operation: Operation, header: HeaderValues, admitUnknown?: () => void): Promise<Principal | null> {
    refusePaymentHeaders(operation, header)
    if (operation.auth.length === 0) return readsKey(operation) ? this.#knownKey(header) : null
    const authorization = operation.auth.includes('apiKey') ? readAuthorization(header) : null
    const signIn = operation.auth.includes('wallet') ? readSignInValue(header) : null
    // The wallet takes precedence if both are present: the stock OpenAI client always sends an Authorization header.
    if (signIn !== null) return this.#byWallet(operation, signIn, admitUnknown)
    return authorization === null ? null : this.#byKey(bearerToken(authorization))
  }

  challenge(): SignInChallenge {
    return signInChallenge(this.#settings.publicUrl, this.#clock.now())
  }

  /** Loads the signature code early, so that the first wallet does not wait for it. */
  async warm(): Promise<void> {
    await evmSigners()
  }

  #planOf(account: string): PlanName {
    return planOf(this.#settings.limits, account, this.#settings.plan)
  }

  /** For a public operation, which is served even with a wrong key or without a database. */
  async #knownKey(header: HeaderValues): Promise<Principal | null> {
    try {
      const authorization = readAuthorization(header)
      return authorization === null ? null : await this.#byKey(bearerToken(authorization))
    } catch {
      return null
    }
  }

  async #byKey(secret: string): Promise<Principal> {
    const key = await this.#keys.find(secret)
    if (!key) throw authenticationFailed()
    const { account, id: keyId, role, budget, plan } = key
    const planned = plan ? { plan, hasOwnPlan: true } : { plan: this.#planOf(account) }
    return { kind: 'key', account, keyId, role, ...planned, budget }
  }

  async #byWallet(operation: Operation, value: string, admitUnknown?: () => void): Promise<Principal> {
    const result = await this.#wallets.signIn(value, admitUnknown)
    if (!result.ok) throw signInError(operation, result.code)
    return result.principal
  }
}

const recoveredSigner: SignerOf = async (message, signature) => (await evmSigners()).ofMessage(message, signature)

/** Wallet-only operations answer with the one sentence on which clients of the published contract match. */
function signInError(operation: Operation, code: SignInCode) {
  const isRecord = operation.auth.length === 1
  return invalidSignIn({ error: isRecord ? 'Invalid Sign-in-with-x signature' : signInSentence(code), code })
}

export interface Identity {
  /**
   * Returns null without credentials. Throws if a credential that is present is wrong. `admitUnknown` throws if the
   * caller's address is blocked; it is called before the signature of a wallet without an account is verified.
   */
  identify(operation: Operation, header: HeaderReader, admitUnknown?: () => void): Promise<Principal | null>
  challenge(): SignInChallenge
}

/** Returns every value of a request header, by its name in lower case. */
type HeaderValues = (name: string) => readonly string[]

/**
 * Returns the only `Authorization` header, or null. If it is sent twice, the answer is 400, even if the request has
 * another valid credential.
 */
const readAuthorization = (header: HeaderValues): string | null => only(authorization.name, header(authorization.name))

/** Returns the token of `Bearer …` (brief §5.1); any other scheme or shape is a 401. */
function bearerToken(value: string): string {
  const token = value.length > authorizationCharacters ? undefined : /^bearer +([\w.~+/-]+=*)$/i.exec(value)?.[1]
  if (token === undefined) throw authenticationFailed()
  return token
}

/**
 * Returns the value of the sign-in header under either of its names, or null. If both are present, they must be equal.
 */
function readSignInValue(header: HeaderValues): string | null {
  const value = only(signInWithX.name, header(signInWithX.name))
  const legacy = only(legacySignInWithX.name, header(legacySignInWithX.name))
  if (value !== null && legacy !== null && value !== legacy) {
    throw wrongHeader(signInWithX.name, `${signInWithX.name} and ${legacySignInWithX.name} differ; send one of them.`)
  }
  return value ?? legacy
}

/** Only the top-up accepts payments; on any other route a careless server could lose the payment. */
function refusePaymentHeaders(operation: Operation, header: HeaderValues): void {
  if (operation.charge === 'payment') return
  const name = paymentHeaderNames.find(each => header(each).length > 0)
  if (name === undefined) return
  throw paymentHeaderNotAccepted({
    error: `${name} is accepted only by POST /x402/top-up: buy credit there, then call this endpoint with SIGN-IN-WITH-X.`,
    code: 'PAYMENT_HEADER_NOT_ACCEPTED',
  })
}

/** Returns the only value of a header, or null. Some servers join repeated headers with a comma. */
function only(name: string, values: readonly string[]): string | null {
  if (values.length > 1 || values[0]?.includes(',')) throw wrongHeader(name, `${name} was sent more than once.`)
  return values[0]?.trim() ?? null
}

const wrongHeader = (name: string, message: string) => fieldError([name], message)

/**
 * Returns what to sign, for the 402 answers. The nonce is a suggestion: a wallet may choose its own, and each works
 * once.
 */
function signInChallenge(publicUrl: string, nowMs: number): SignInChallenge {
  const { host, origin } = new URL(publicUrl)
  return {
    info: {
      // Includes the port: stock clients compare it with the host that they called.
      domain: host,
      uri: origin,
      version: '1',
      nonce: randomBytes(challengeNonceBytes).toString('hex'),
      issuedAt: new Date(nowMs).toISOString(),
      expirationTime: new Date(nowMs + challengeLifeMs).toISOString(),
      statement: 'Sign in to Service API',
    },
    supportedChains: [
      { chainId: evmNetwork, type: 'eip191' },
      { chainId: solanaNetwork, type: 'ed25519' },
    ],
  }
}

/** What went wrong with a sign-in and what to do about it, by its code (published contract §2.5). */
const sentences: Record<SignInCode, string> = {
  X402_SIGN_IN_INVALID_PAYLOAD: 'The sign-in header is not a JSON object in base64; encode the payload again.',
  X402_SIGN_IN_PARSE_ERROR:
    'The sign-in payload lacks a member, or a member has the wrong type; build it as documented.',
  X402_SIGN_IN_INVALID_MESSAGE: 'The signed message does not have the exact format of EIP-4361; build it again.',
  X402_SIGN_IN_ADDRESS_MISMATCH: 'The payload and the signed message name different addresses; send the signed one.',
  X402_SIGN_IN_INVALID_CHAIN_ID: 'The chain id of the sign-in is invalid; use a CAIP-2 id such as eip155:8453.',
  X402_SIGN_IN_CHAIN_MISMATCH: 'The payload and the signed message name different chains; send the signed one.',
  X402_SIGN_IN_UNSUPPORTED_CHAIN:
    'The signed message names another chain; sign in on eip155:8453 or on Solana mainnet.',
  X402_SIGN_IN_MISSING_NONCE: 'The nonce of the signed message is invalid; use 16 random hexadecimal characters.',
  X402_SIGN_IN_DOMAIN_MISMATCH: 'The signed message is for another site; sign the domain and URI of this service.',
  X402_SIGN_IN_TIMESTAMP_MISMATCH:
    'The timestamp differs by more than 30 s from the signed Issued At; send that time or none.',
  X402_SIGN_IN_EXPIRED: 'The sign-in has expired; sign a new message.',
  X402_SIGN_IN_FUTURE_TIMESTAMP: 'The signed Issued At is in the future; correct the clock and sign a new message.',
  X402_SIGN_IN_NOT_BEFORE: 'The sign-in is not valid yet; wait until its Not Before, or sign a new message.',
  X402_SIGN_IN_INVALID_SIGNATURE: 'Invalid Sign-in-with-x signature',
  X402_SIGN_IN_INVALID_WALLET: 'The address of the sign-in cannot sign; use another wallet.',
  X402_SIGN_IN_NONCE_REUSED: 'The sign-in was used before; sign a new message with a fresh nonce.',
}

/** What was wrong with a sign-in and what to do, in one sentence. */
export const signInSentence = (code: SignInCode): string => sentences[code]

/** How long the message of a challenge is valid. */
const challengeLifeMs = 5 * minuteMs

/** Random bytes of a challenge's nonce: 16 hex characters, as wallets use. */
const challengeNonceBytes = 8

/** Longest `Authorization` header: far above our own keys, and still cheap to inspect. */
const authorizationCharacters = 4_096
