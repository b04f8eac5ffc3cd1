import { authenticationFailed, invalidSignIn } from '#contract/errors/errors.ts'
import type { PlanName } from '#contract/limits.ts'
import { type Operation, readsKey } from '#contract/operations/operation.ts'
import type { Clock } from '#contract/time.ts'
import type { HeaderReader } from '#contract/wire/header-codec.ts'
import type { SignInCode } from '#contract/wire/sign-in.ts'
import type { Principal } from '#ledger/accounts/principal.ts'
import type { Store } from '#ledger/store/store.ts'
import type { ApiKeys } from '../keys/api-keys.ts'
import { planOf } from '../limits/limit-rules.ts'
import type { SignInChallenge } from '../payment-required.ts'
import type { AccessSettings } from '../settings.ts'
import { signInChallenge } from './challenge.ts'
import {
  bearerToken,
  type HeaderValues,
  readAuthorization,
  readSignInValue,
  refusePaymentHeaders,
} from './credentials.ts'
import { EvmVerifier } from './evm-verifier.ts'
import { signInSentence } from './sign-in-sentences.ts'
import { WalletSignIn } from './wallet-sign-in.ts'

type IdentitySettings = Pick<AccessSettings, 'publicUrl' | 'signInDomains' | 'signInWindow' | 'plan' | 'limits'>

/** Who sends a request, by its headers and the operation that it calls (published contract §2.5). */
export class CallerIdentity implements Identity {
  readonly #keys: ApiKeys
  readonly #clock: Clock
  readonly #settings: IdentitySettings
  readonly #verifier: EvmVerifier
  readonly #wallets: WalletSignIn

  constructor(options: {
    store: Store
    clock: Clock
    keys: ApiKeys
    settings: IdentitySettings
    onThreadFailure: (error: Error) => void
    /** Absent: threads of its own, closed with it. */
    verifier?: EvmVerifier
  }) {
    const { store, clock, keys, settings, onThreadFailure } = options
    this.#verifier = options.verifier ?? new EvmVerifier({ onThreadFailure })
    this.#keys = keys
    this.#clock = clock
    this.#settings = settings
    const rules = { domains: settings.signInDomains, window: settings.signInWindow }
    this.#wallets = new WalletSignIn({
      store,
      clock,
      verifier: this.#verifier,
      rules,
      planOf: account => this.#planOf(account),
    })
  }

  /**
   * Null where nobody identified themselves in a way that the operation takes. Throws 400 for what cannot be meant,
   * 401 for a credential that is wrong.
   */
  async identify(operation: Operation, header: HeaderValues): Promise<Principal | null> {
    refusePaymentHeaders(operation, header)
    if (operation.auth.length === 0) return readsKey(operation) ? this.#knownKey(header) : null
    const authorization = operation.auth.includes('apiKey') ? readAuthorization(header) : null
    const signIn = operation.auth.includes('wallet') ? readSignInValue(header) : null
    // The wallet wins where both are there: the stock OpenAI client always sends an Authorization.
    if (signIn !== null) return this.#byWallet(operation, signIn)
    return authorization === null ? null : this.#byKey(bearerToken(authorization))
  }

  challenge(): SignInChallenge {
    return signInChallenge(this.#settings.publicUrl, this.#clock.now())
  }

  /** The address in lower case that signed a text by EIP-191, or null. Throws 429 while too many wait. */
  signerOf(message: string, signature: string): Promise<string | null> {
    return this.#wallets.signerOf(message, signature)
  }

  /** Starts the threads that verify signatures; without it the first wallet waits 0.3 s for one. */
  warm(): void {
    this.#verifier.warm()
  }

  /** Ends those threads; requests that wait for one are told to come again. */
  close(): Promise<void> {
    return this.#verifier.close()
  }

  #planOf(account: string): PlanName {
    return planOf(this.#settings.limits, account, this.#settings.plan)
  }

  /** Of a public operation, which a wrong key, or a database that is away, keeps from nobody. */
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
    const { account, id: keyId, role, budget } = key
    return { kind: 'key', account, keyId, role, plan: this.#planOf(account), budget }
  }

  async #byWallet(operation: Operation, value: string): Promise<Principal> {
    const result = await this.#wallets.signIn(value)
    if (!result.ok) throw signInError(operation, result.code)
    return result.principal
  }
}

/** The records of a wallet answer the one sentence that clients of the published contract look for. */
function signInError(operation: Operation, code: SignInCode) {
  const isRecord = operation.auth.length === 1
  return invalidSignIn({ error: isRecord ? 'Invalid Sign-in-with-x signature' : signInSentence(code), code })
}

export interface Identity {
  /** Null where nobody identified themselves. Throws what is wrong with a credential that is there. */
  identify(operation: Operation, header: HeaderReader): Promise<Principal | null>
  challenge(): SignInChallenge
}
