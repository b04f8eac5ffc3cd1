import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto'
import type { Selectable } from 'kysely'
import { receiptNotFound } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { addUsd } from '#contract/money.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import {
  type Receipt,
  type ReceiptClaims,
  type ReceiptKeys,
  type Receipts,
  receiptType,
} from '#contract/operations/receipts.ts'
import { queueVideo } from '#contract/operations/video.ts'
import type { Clock } from '#contract/time.ts'
import { walletAccountId } from '../accounts/customers.ts'
import { commitSurely, type Store } from '../store/store.ts'
import type { EntryTable } from '../store/tables.ts'
import { archived, entryRefs, isArchivedSum } from '../store/units.ts'
import { startsWithUuidV7, uuidV7, uuidV7Floor } from '../store/uuid-v7.ts'

interface ReceiptPage {
  limit: number
  /** The item before the first one of the page, as named by the previous page's `next`. */
  before?: string | undefined
}

/**
 * Signed receipts of everything that the ledger has captured and refunded. They are created on request, so a charge
 * costs nothing extra, and every charge has a receipt, including recovered ones.
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

  /** Called before the first receipt: publishes the signing key permanently. */
  async publishKey(): Promise<void> {
    const { id, publicKey } = this.#key
    const known = await this.#store.read.selectFrom('receipt_key').select('id').where('id', '=', id).executeTakeFirst()
    if (known) return
    const atMs = this.#clock.now()
    const published = { op: 'receiptKey', key: id, publicKey, atMs } as const
    const outcome = await commitSurely(this.#store, { id: `${uuidV7(atMs)}/receipt-key`, ops: [published] })
    if (!outcome.ok) throw new Error(`The store refused the key of receipts: ${outcome.why}.`)
  }

  /** Returns every key that this ledger ever published. */
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

  /** Returns a receipt of one request of this account. Throws `receiptNotFound`, also for another account's. */
  async of(account: string, request: string): Promise<Receipt> {
    if (isArchivedSum(request)) throw receiptNotFound()
    const claims = claimsOf(await this.#entriesOf(account, [request]), this.#issuer)
    if (!claims) throw await this.#notFound(request)
    const { charge, refund } = claims
    return { charge: this.#key.sign(charge), refund: refund && this.#key.sign(refund) }
  }

  /** Calls of compacted months are part of sums, which have no receipts. */
  async #notFound(request: string) {
    const compaction = this.#store.read.selectFrom('compaction').select('before_ms')
    const row = startsWithUuidV7(request) ? await compaction.executeTakeFirst() : undefined
    if (!row || request >= uuidV7Floor(row.before_ms)) return receiptNotFound()
    const day = new Date(row.before_ms).toISOString().slice(0, 10)
    return receiptNotFound(undefined, ` Calls before ${day} are archived; ask the operator of the service for them.`)
  }

  /** Newest first. Throws `invalidRequest` if `before` is not a receipt of this account. */
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
      .where('request', 'not like', `${archived}:%`)
      .orderBy('seq', 'desc')
      .limit(limit)
    if (before === undefined) return heads.execute()
    return heads.where('seq', '<', await this.#placeOf(account, before)).execute()
  }

  /**
   * A receipt has the name of its first entry. The account is compared here, because SQLite would otherwise use it to
   * scan all entries.
   */
  async #placeOf(account: string, before: string): Promise<number> {
    const row = await this.#store.read
      .selectFrom('entry')
      .select(['seq', 'account'])
      .where('ref', '=', before)
      .where('line', '=', 0)
      .executeTakeFirst()
    if (row?.account === account) return row.seq
    const message = 'is not one of your receipts; use the value of `next` from the previous page'
    throw fieldError(['before'], message)
  }

  /** Selects only by name, for the same reason. */
  async #entriesOf(account: string, requests: readonly string[]): Promise<ReceiptEntry[]> {
    if (requests.length === 0) return []
    const refs = requests.flatMap(request => Object.values(entryRefs).map(ref => ref(request)))
    const rows = await this.#store.read.selectFrom('entry').select(receiptColumns).where('ref', 'in', refs).execute()
    return rows.filter(row => row.account === account)
  }
}

/** The entry columns that a receipt needs. */
const receiptColumns = [
  ...(['kind', 'account', 'ref', 'line', 'amount', 'request', 'model', 'sku', 'units'] as const),
  ...(['unit_price_pico_usd', 'reason', 'api_key', 'created_at_ms'] as const),
] as const

type ReceiptEntry = Pick<Selectable<EntryTable>, (typeof receiptColumns)[number]>

interface RequestClaims {
  charge: ReceiptClaims
  refund: ReceiptClaims | null
}

/**
 * Builds the receipts of one request from its entries alone, so that they always match the ledger, also for a call that
 * was recovered after a crash. Null if it was not charged.
 */
function claimsOf(entries: readonly ReceiptEntry[], issuer: string): RequestClaims | null {
  const lines = entries.filter(({ kind }) => kind === 'CHARGE').toSorted((a, b) => a.line - b.line)
  const [first] = lines
  if (!first) return null
  const writtenOff = sumOf(entries.filter(({ kind }) => kind === 'WRITE_OFF'))
  const amount = sumOf(lines) - writtenOff
  const staking = sumOf(entries.filter(({ kind, ref }) => kind === 'STAKING' && ref.startsWith('staking:')))
  const paidWith = { usd: `${amount - staking}`, diem: `${staking}` }
  const same = {
    iss: issuer,
    sub: payerOf(first.account),
    request: first.request ?? '',
    operation: operationOf(first.sku),
    model: first.model,
    ...(first.api_key === null ? {} : { api_key: first.api_key }),
    amount_micro_usd: `${amount}`,
    paid_with: paidWith,
  }
  const charge = {
    ...{ kind: 'charge' as const, iat: secondsOf(first), ...same, lines: lines.map(lineOf) },
    written_off_micro_usd: `${writtenOff}`,
  }
  const refund = entries.find(({ kind }) => kind === 'REFUND')
  if (!refund) return { charge, refund: null }
  const back = { kind: 'refund' as const, iat: secondsOf(refund), ...same, lines: [], written_off_micro_usd: '0' }
  return { charge, refund: { ...back, ...(refund.reason === null ? {} : { reason: refund.reason }) } }
}

const sumOf = (entries: readonly ReceiptEntry[]): bigint => addUsd(...entries.map(({ amount }) => amount))

const secondsOf = ({ created_at_ms }: ReceiptEntry): number => Math.floor(created_at_ms / 1000)

const lineOf = ({ sku, units, unit_price_pico_usd, amount }: ReceiptEntry) => ({
  sku: sku ?? '',
  units: `${units ?? 0n}`,
  unit_price_pico_usd: `${unit_price_pico_usd ?? 0n}`,
  amount_micro_usd: `${amount}`,
})

const ofWallets = walletAccountId('')

/** A wallet is identified by its address alone. */
const payerOf = (account: string): string => (account.startsWith(ofWallets) ? account.slice(ofWallets.length) : account)

/** The operation that each prefix of SKUs belongs to. */
const soldBy: Readonly<Record<string, string>> = { chat: createChatCompletion.id, video: queueVideo.id }

const operationOf = (sku: string | null): string | null => soldBy[sku?.split('.')[0] ?? ''] ?? null

/** The PKCS #8 prefix of an Ed25519 key, before its 32 bytes (RFC 8410). */
const keyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/**
 * The key that signs receipts (Ed25519), derived from the service's secret: there is nothing else to store or back up,
 * and it changes with the secret. Nothing else signed with the secret can pass for a receipt.
 */
export class SigningKey {
  /** Thumbprint of the public key (RFC 7638). */
  readonly id: string
  /** base64url, as in a JWK's `x`. */
  readonly publicKey: string
  readonly #key: KeyObject
  readonly #header: string

  constructor(secret: string) {
    const seed = Buffer.from(hkdfSync('sha256', secret, '', 'farebox receipt signing key', 32))
    this.#key = createPrivateKey({ key: Buffer.concat([keyPrefix, seed]), format: 'der', type: 'pkcs8' })
    this.publicKey = createPublicKey(this.#key).export({ format: 'jwk' }).x ?? ''
    this.id = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${this.publicKey}"}`).digest('base64url')
    this.#header = base64url(JSON.stringify({ alg: 'EdDSA', kid: this.id, typ: receiptType }))
  }

  /** Returns a compact JWS (RFC 7515, RFC 8037); the same claims always give the same text. */
  sign(claims: object): string {
    const signed = `${this.#header}.${base64url(JSON.stringify(claims))}`
    return `${signed}.${sign(null, Buffer.from(signed), this.#key).toString('base64url')}`
  }
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url')

/**
 * A longer receipt is left out of the answer's headers, because some proxies accept only 8 kB for all headers together.
 */
export const receiptHeaderCharacters = 4_096

/** Published keys: one per rotation of the service's secret, so these last a lifetime. */
const publishedKeys = 200
