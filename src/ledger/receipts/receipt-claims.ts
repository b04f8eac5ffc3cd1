import type { Selectable } from 'kysely'
import { addUsd } from '#contract/money.ts'
import { createChatCompletion } from '#contract/operations/chat.ts'
import type { ReceiptClaims } from '#contract/operations/receipts.ts'
import { queueVideo } from '#contract/operations/video.ts'
import { walletAccountId } from '../accounts/wallet-account.ts'
import type { EntryTable } from '../store/tables.ts'

/** The columns of an entry that a receipt is made of. */
export const receiptColumns = [
  ...(['kind', 'account', 'ref', 'line', 'amount', 'request', 'model', 'sku', 'units'] as const),
  ...(['unit_price_pico_usd', 'reason', 'api_key', 'created_at_ms'] as const),
] as const

export type ReceiptEntry = Pick<Selectable<EntryTable>, (typeof receiptColumns)[number]>

interface RequestClaims {
  charge: ReceiptClaims
  refund: ReceiptClaims | null
}

/**
 * What the receipts of one request say, out of its entries and nothing else: so they say what the books do, also of a call
 * that was recovered after a crash. Null where it was not charged.
 */
export function claimsOf(entries: readonly ReceiptEntry[], issuer: string): RequestClaims | null {
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

/** A wallet is known by its address alone. */
const payerOf = (account: string): string => (account.startsWith(ofWallets) ? account.slice(ofWallets.length) : account)

/** What is sold under the SKUs that begin with a word. */
const soldBy: Readonly<Record<string, string>> = { chat: createChatCompletion.id, video: queueVideo.id }

const operationOf = (sku: string | null): string | null => soldBy[sku?.split('.')[0] ?? ''] ?? null
