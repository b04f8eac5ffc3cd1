/** The books in a few lines, to compare a store with. Knows money and nonces only. */
import type { Op, Refusal, Unit } from '#service/store/units.ts'

export interface Books {
  accounts: Map<string, { posted: bigint; held: bigint }>
  holds: Map<string, { account: string; amount: bigint; owner: string; untilMs: number }>
  usedHolds: Set<string>
  charges: Map<string, { account: string; amount: bigint }>
  refs: Set<string>
  nonces: Set<string>
}

export type ModelOutcome = { ok: true; again: boolean; balances: unknown[] } | { ok: false; op: number; why: Refusal }

const emptyBooks = (): Books => ({
  accounts: new Map(),
  holds: new Map(),
  usedHolds: new Set(),
  charges: new Map(),
  refs: new Set(),
  nonces: new Set(),
})

export class LedgerModel {
  books = emptyBooks()
  readonly #outcomes = new Map<string, ModelOutcome & { ok: true }>()

  commit({ id, ops }: Unit): ModelOutcome {
    const known = this.#outcomes.get(id)
    if (known) return { ...known, again: true }
    const books = structuredClone(this.books)
    const touched = new Set<string>()
    for (const [op, what] of ops.entries()) {
      const why = applyToBooks(books, what, touched)
      if (why) return { ok: false, op, why }
    }
    this.books = books
    const balances = [...touched].map(account => ({ account, ...books.accounts.get(account) }))
    const outcome = { ok: true, again: false, balances } as const
    this.#outcomes.set(id, outcome)
    return outcome
  }
}

function applyToBooks(books: Books, op: Op, touched: Set<string>): Refusal | null {
  switch (op.op) {
    case 'account':
      if (!books.accounts.has(op.account)) books.accounts.set(op.account, { posted: 0n, held: 0n })
      return null
    case 'credit':
      if (!books.accounts.has(op.account)) return 'no_account'
      return enter(books, op.account, op.ref, op.amount, touched) ? null : 'ref_exists'
    case 'nonce':
      if (books.nonces.has(op.key)) return 'nonce_used'
      books.nonces.add(op.key)
      return null
    case 'refund': {
      const charge = books.charges.get(op.request)
      if (!charge) return 'nothing_to_refund'
      return enter(books, charge.account, `refund:${op.request}`, charge.amount, touched) ? null : 'refunded'
    }
    case 'hold':
      if (!books.accounts.has(op.account)) return 'no_account'
      if (books.usedHolds.has(op.hold)) return 'hold_exists'
      if (!reserve(books, op.account, op.amount, touched)) return 'insufficient_funds'
      books.usedHolds.add(op.hold)
      books.holds.set(op.hold, { account: op.account, amount: op.amount, ...op.lease })
      return null
    default:
      return applyToHold(books, op, touched)
  }
}

function applyToHold(books: Books, op: Op, touched: Set<string>): Refusal | null {
  if (!('hold' in op)) throw new Error(`The model does not know ${op.op}.`)
  const hold = books.holds.get(op.hold)
  if (!hold) return 'no_hold'
  if (op.op === 'extend') {
    if (!reserve(books, hold.account, op.amount, touched)) return 'insufficient_funds'
    hold.amount += op.amount
    return null
  }
  if (op.op === 'renew') {
    if (hold.owner !== op.lease.owner) return 'not_owner'
    hold.untilMs = op.lease.untilMs
    return null
  }
  if (op.op === 'release' && op.onlyIfExpired && op.onlyIfExpired.atMs < hold.untilMs) return 'lease_live'
  const lines = op.op === 'capture' ? op.lines : []
  const charged = lines.reduce((sum, line) => sum + line.amount, 0n)
  if (op.op === 'capture' && lines.length > 0) {
    if (books.charges.has(op.request)) return 'request_charged'
    if (charged > hold.amount) return 'over_hold'
    books.charges.set(op.request, { account: hold.account, amount: charged })
  }
  books.holds.delete(op.hold)
  reserve(books, hold.account, -hold.amount, touched)
  enter(books, hold.account, null, -charged, touched)
  return null
}

function reserve(books: Books, account: string, amount: bigint, touched: Set<string>): boolean {
  const balance = books.accounts.get(account)
  if (!balance || balance.posted - balance.held < amount) return false
  balance.held += amount
  touched.add(account)
  return true
}

function enter(books: Books, account: string, ref: string | null, amount: bigint, touched: Set<string>): boolean {
  const balance = books.accounts.get(account)
  if (!balance || (ref !== null && books.refs.has(ref))) return false
  if (ref !== null) books.refs.add(ref)
  balance.posted += amount
  touched.add(account)
  return true
}
