import type { Clock } from '#contract/time.ts'
import type { Store } from '#ledger/store/store.ts'
import type { UseNonce } from '#ledger/store/units.ts'
import { attestationMs } from './bounds.ts'

/** Whose word it is, and on which policy and version. */
interface AttestedUnder {
  account: string
  policy: string
}

/**
 * Media that a person has attested, by the hash of their bytes (published contract §4.3). They stand among the keys that
 * are used once: here one that is there already says that nobody has to be asked again.
 */
export class Attestations {
  readonly #store: Store
  readonly #clock: Clock

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  /** Those of `hashes` that were attested. */
  async of(under: AttestedUnder, hashes: readonly string[]): Promise<Set<string>> {
    const keys = new Map(hashes.map(hash => [keyOf(under, hash), hash]))
    const rows = await this.#store.read
      .selectFrom('nonce')
      .select('id')
      .where('id', 'in', [...keys.keys()])
      .where('expires_at_ms', '>', this.#clock.now())
      .execute()
    return new Set(rows.flatMap(({ id }) => keys.get(id) ?? []))
  }

  /** What keeps those of `hashes` that are not attested yet. Refused where somebody was faster, and then it is there all the same. */
  async marks(under: AttestedUnder, hashes: readonly string[]): Promise<UseNonce[]> {
    const known = await this.of(under, hashes)
    const expiresAtMs = this.#clock.now() + attestationMs
    return hashes.filter(hash => !known.has(hash)).map(hash => ({ op: 'nonce', key: keyOf(under, hash), expiresAtMs }))
  }
}

const keyOf = ({ account, policy }: AttestedUnder, hash: string): string => `attested:${account}:${policy}:${hash}`
