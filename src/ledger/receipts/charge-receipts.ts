import { receiptNotFound } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import type { Receipt, ReceiptKeys, Receipts } from '#contract/operations/receipts.ts'
import type { Clock } from '#contract/time.ts'
import { commitSurely } from '../store/commit-surely.ts'
import { entryRefs } from '../store/entry-refs.ts'
import type { Store } from '../store/store.ts'
import { uuidV7 } from '../store/uuid-v7.ts'
import { publishedKeys } from './bounds.ts'
import { claimsOf, type ReceiptEntry, receiptColumns } from './receipt-claims.ts'
import { SigningKey } from './signing-key.ts'

interface ReceiptPage {
  limit: number
  /** The item after which the page begins, as `next` named it. */
  before?: string | undefined
}

/**
 * Signed receipts of what the books have captured and given back. They are made when somebody asks for one: a charge
 * costs nothing for it, and there is a receipt of every charge, whoever ended it.
 */
export class ChargeReceipts {
  readonly #store: Pick<Store, 'read' | 'commit'>
  readonly #clock: Clock
  readonly #issuer: string
  readonly #key: SigningKey

  constructor(options: { store: Pick<Store, 'read' | 'commit'>; clock: Clock; issuer: string; secret: string }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#issuer = options.issuer
    this.#key = new SigningKey(options.secret)
  }

  /** Before the first receipt: lets everybody find the key that they are signed with, for good. */
  async publishKey(): Promise<void> {
    const { id, publicKey } = this.#key
    const known = await this.#store.read.selectFrom('receipt_key').select('id').where('id', '=', id).executeTakeFirst()
    if (known) return
    const atMs = this.#clock.now()
    const published = { op: 'receiptKey', key: id, publicKey, atMs } as const
    const outcome = await commitSurely(this.#store, { id: `${uuidV7(atMs)}/receipt-key`, ops: [published] })
    if (!outcome.ok) throw new Error(`The store refused the key of receipts: ${outcome.why}.`)
  }

  /** Every key that was ever published in these books. */
  async keys(): Promise<ReceiptKeys> {
    const rows = await this.#store.read
      .selectFrom('receipt_key')
      .select(['id', 'public_key'])
      .orderBy('since_ms', 'desc')
      .orderBy('id')
      .limit(publishedKeys)
      .execute()
    const same = { kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA' } as const
    return { keys: rows.map(({ id, public_key }) => ({ ...same, kid: id, x: public_key })) }
  }

  /** Of one request of this account. Throws `receiptNotFound`, also for somebody else's. */
  async of(account: string, request: string): Promise<Receipt> {
    const claims = claimsOf(await this.#entriesOf(account, [request]), this.#issuer)
    if (!claims) throw receiptNotFound()
    const { charge, refund } = claims
    return { charge: this.#key.sign(charge), refund: refund && this.#key.sign(refund) }
  }

  /** Newest first. Throws `invalidRequest` where `before` names no receipt of this account. */
  async list(account: string, { limit, before }: ReceiptPage): Promise<Receipts> {
    const heads = await this.#heads(account, limit + 1, before)
    const shown = heads.slice(0, limit)
    const requests = [...new Set(shown.map(({ request }) => request ?? ''))]
    const byRequest = Map.groupBy(await this.#entriesOf(account, requests), ({ request }) => request ?? '')
    const data = shown.flatMap(({ kind: entryKind, request }) => {
      const kind = entryKind === 'CHARGE' ? ('charge' as const) : ('refund' as const)
      const claims = claimsOf(byRequest.get(request ?? '') ?? [], this.#issuer)?.[kind]
      return claims ? [{ kind, request: claims.request, receipt: this.#key.sign(claims) }] : []
    })
    const last = data.at(-1)
    return { object: 'list', data, next: last && heads.length > limit ? `${last.kind}:${last.request}` : null }
  }

  async #heads(account: string, limit: number, before: string | undefined) {
    const heads = this.#store.read
      .selectFrom('entry')
      .select(['kind', 'request'])
      .where('account', '=', account)
      .where('kind', 'in', ['CHARGE', 'REFUND'])
      .where('line', '=', 0)
      .orderBy('seq', 'desc')
      .limit(limit)
    if (before === undefined) return heads.execute()
    return heads.where('seq', '<', await this.#placeOf(account, before)).execute()
  }

  /** A receipt is named as its first entry is. The account is compared here, or SQLite would go by it through all entries. */
  async #placeOf(account: string, before: string): Promise<number> {
    const row = await this.#store.read
      .selectFrom('entry')
      .select(['seq', 'account'])
      .where('ref', '=', before)
      .where('line', '=', 0)
      .executeTakeFirst()
    if (row?.account === account) return row.seq
    const message = 'names no receipt of yours; take it from `next` of the page before'
    throw fieldError(['before'], message)
  }

  /** By their names alone, for the same reason. */
  async #entriesOf(account: string, requests: readonly string[]): Promise<ReceiptEntry[]> {
    if (requests.length === 0) return []
    const refs = requests.flatMap(request => Object.values(entryRefs).map(ref => ref(request)))
    const rows = await this.#store.read.selectFrom('entry').select(receiptColumns).where('ref', 'in', refs).execute()
    return rows.filter(row => row.account === account)
  }
}
