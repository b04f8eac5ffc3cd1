import { createHash } from 'node:crypto'
import { encodeBase58 } from '#contract/wire/base58.ts'
import { newId } from '../ids.ts'
import type { SolanaKey, WalletKey } from '../keys/keys.ts'
import * as limits from '../limits.ts'
import { all, change, first, type Records, type Row, type Value, type Work } from '../records/records.ts'
import type { AskedAbout } from '../terms/about-call.ts'
import { isPolicyRule, type RefusedTerms, type Rule, WalletRefusal } from '../terms/refusal.ts'

/** One refusal to pay, as stored in the journal. It contains no secret and nothing of a call's content. */
export interface RefusalRecord {
  id: string
  rule: Rule
  /** The sentence of the first refusal. */
  sentence: string
  firstAtMs: number
  lastAtMs: number
  /** How many refusals this row counts. */
  times: number
  /** The wallet's address that would have paid; null if none would. */
  address: string | null
  /** The service that would have been paid: scheme, host and port. */
  origin: string
  /** Id of the operation that would have been paid for; null if the call was not one of the contract. */
  operation: string | null
  network: string | null
  asset: string | null
  payTo: string | null
  amountMicroUsd: bigint | null
  limitMicroUsd: bigint | null
  /** What was left of the limit. */
  leftMicroUsd: bigint | null
  /** SHA-256 of the call, hexadecimal; its content cannot be read from it. */
  requestHash: string | null
}

/** The subject of a decision, for the record of its refusal. */
export interface DecidedCall {
  origin: string
  operation: string | null
  address: string | null
  /** For the user who decides on it; not part of a refusal's record. */
  about?: AskedAbout | undefined
}

interface Refused extends DecidedCall {
  rule: Rule
  sentence: string
  terms?: RefusedTerms | undefined
}

/** Runs work that may refuse to pay, and records the refusal before the caller gets it. */
export async function recorded<Result>(
  records: Records,
  call: DecidedCall,
  terms: RefusedTerms,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof WalletRefusal && isPolicyRule(error.rule)) {
      const refused = { ...call, ...{ rule: error.rule, sentence: error.sentence } }
      const whole = { ...refused, terms: { ...terms, ...error.terms } }
      // The refusal is thrown even if it cannot be recorded.
      await records.decide(nowMs => recordRefusal(whole, nowMs)).catch(() => undefined)
    }
    throw error
  }
}

/** If the same call is refused again for the same reason within an hour, its row counts the repeats. */
export function* recordRefusal(refused: Refused, nowMs: number): Work<void> {
  const { rule, sentence, operation, terms = {} } = refused
  const origin = refused.origin.slice(0, limits.maxOriginLength)
  const { network, asset, payTo, requestHash } = terms
  const address = terms.address ?? refused.address
  const about = [rule, origin, operation, address, network, asset, payTo, requestHash].map(value => value ?? null)
  const same = createHash('sha256').update(JSON.stringify(about)).digest('hex')
  const known = yield* first(
    'SELECT id FROM refusals WHERE same = ? AND first_at_ms > ? ORDER BY first_at_ms DESC LIMIT 1',
    ...[same, nowMs - limits.sameRefusalMs],
  )
  if (known) {
    yield* change('UPDATE refusals SET times = times + 1, last_at_ms = ? WHERE id = ?', nowMs, String(known.id))
    return
  }
  const [amount, limit, left] = [terms.amountMicroUsd, terms.limitMicroUsd, terms.leftMicroUsd].map(textOrNone)
  const values = [rule, sentence, nowMs, nowMs, address, origin, operation, network, asset, payTo]
  yield* change(
    `INSERT INTO refusals (id, same, rule, sentence, first_at_ms, last_at_ms, address, origin, operation, network,
       asset, pay_to, amount_micro_usd, limit_micro_usd, left_micro_usd, request_hash)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[newId('no'), same, ...values, amount, limit, left, requestHash].map((value): Value => value ?? null),
  )
  yield* prune(nowMs)
}

function* prune(nowMs: number): Work<void> {
  yield* change('DELETE FROM refusals WHERE last_at_ms < ?', nowMs - limits.refusalsKeptMs)
  yield* change(
    `DELETE FROM refusals WHERE id IN
       (SELECT id FROM refusals ORDER BY last_at_ms DESC, rowid DESC LIMIT ? OFFSET ?)`,
    ...[limits.maxListed, limits.keptRefusals],
  )
}

/** Newest first. */
export function* listRefusals(limit: number): Work<RefusalRecord[]> {
  const most = Math.min(limit, limits.keptRefusals)
  return (yield* all('SELECT * FROM refusals ORDER BY last_at_ms DESC, rowid DESC LIMIT ?', most)).map(read)
}

const textOrNone = (amount: bigint | undefined): string | null => amount?.toString() ?? null
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
const amountOf = (value: unknown): bigint | null => (typeof value === 'string' ? BigInt(value) : null)

const read = (row: Row): RefusalRecord => ({
  id: String(row.id),
  rule: row.rule as Rule,
  sentence: String(row.sentence),
  firstAtMs: Number(row.first_at_ms),
  lastAtMs: Number(row.last_at_ms),
  times: Number(row.times),
  address: textOf(row.address),
  origin: String(row.origin),
  operation: textOf(row.operation),
  network: textOf(row.network),
  asset: textOf(row.asset),
  payTo: textOf(row.pay_to),
  amountMicroUsd: amountOf(row.amount_micro_usd),
  limitMicroUsd: amountOf(row.limit_micro_usd),
  leftMicroUsd: amountOf(row.left_micro_usd),
  requestHash: textOf(row.request_hash),
})

/** A statement about a refusal, signed with the key that would have paid; see docs/receipts.md. */
export interface SignedStatement {
  statement: string
  /** `eip191`: as wallets sign a message, hexadecimal. `solana-offchain-v1`: Ed25519 over that envelope, base58. */
  scheme: 'eip191' | 'solana-offchain-v1'
  signature: string
}

/**
 * Returns the text to sign. It never starts like a sign-in, with a host; and on either rail, the signed bytes start in
 * a way that no transaction or authorization can.
 */
export function refusalStatement(refusal: RefusalRecord): string {
  const time = (atMs: number) => new Date(atMs).toISOString()
  const amount = (microUsd: bigint | null) => (microUsd === null ? null : `${microUsd} micro-USD`)
  const lines: readonly (readonly [name: string, value: string | null])[] = [
    ['Wallet', refusal.address],
    ['Refusal', refusal.id],
    ['Rule', refusal.rule],
    ['Said', refusal.sentence],
    ['Service', refusal.origin],
    ['Operation', refusal.operation],
    ['Payee', refusal.payTo],
    ['Network', refusal.network],
    ['Asset', refusal.asset],
    ['Amount', amount(refusal.amountMicroUsd)],
    ['Limit', amount(refusal.limitMicroUsd)],
    ['Left', amount(refusal.leftMicroUsd)],
    ['Request SHA-256', refusal.requestHash],
    ['First', time(refusal.firstAtMs)],
    ['Last', time(refusal.lastAtMs)],
    ['Times', String(refusal.times)],
  ]
  return [
    'farebox statement of a refused payment, version 1',
    'This is neither a sign-in nor a payment, and it permits nothing.',
    '',
    ...lines.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${inOneLine(value)}`])),
  ].join('\n')
}

/** A value that could start a new line could pose as another member. */
const inOneLine = (value: string): string => value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')

export async function signStatement(key: WalletKey, statement: string): Promise<SignedStatement> {
  if (key.namespace === 'eip155') return { statement, scheme: 'eip191', signature: await key.signMessage(statement) }
  return { statement, scheme: 'solana-offchain-v1', signature: await signOffchain(key, statement) }
}

/** Uses the envelope of Solana's off-chain messages, whose first byte no transaction can have. */
async function signOffchain(key: SolanaKey, content: string): Promise<string> {
  const { address, compileOffchainMessageEnvelope } = await import('@solana/kit')
  const message = { version: 1, content, requiredSignatories: [{ address: address(key.address) }] } as const
  return encodeBase58(key.signBytes(Uint8Array.from(compileOffchainMessageEnvelope(message).content)))
}
