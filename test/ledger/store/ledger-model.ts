/** The ledger in a few lines, to compare a store with. Knows money, budgets and nonces only. */

import type { KeyBudget } from '#ledger/store/account-ops.ts'
import type { Refusal } from '#ledger/store/store.ts'
import type { Capture, Extend, Hold, Op, Unit } from '#ledger/store/units.ts'

interface OpenHold {
  account: string
  usd: bigint
  staking: bigint
  /** Name of the day, of `days`; empty where the hold has none. */
  day: string
  key: string
  /** Name of the key's period, of `uses`; empty where the key had no budget. */
  use: string
  /** Of its key when it was opened. */
  limits: Limits
  owner: string
  untilMs: number
}

interface Use {
  usd: bigint
  staking: bigint
}

/** Null is without. */
type Limits = Pick<KeyBudget, 'usd' | 'staking'>

const noLimits: Limits = { usd: null, staking: null }

export interface TestLedger {
  accounts: Map<string, { posted: bigint; held: bigint }>
  keys: Map<string, { account: string; budget: KeyBudget | null }>
  /** Spent and held together, by account and day. */
  days: Map<string, { granted: bigint; used: bigint }>
  /** Spent and held together, by key, period and start. */
  uses: Map<string, Use>
  holds: Map<string, OpenHold>
  usedHolds: Set<string>
  charges: Map<string, OpenHold>
  refs: Set<string>
  nonces: Set<string>
  readOnly: boolean
}

export type ModelOutcome = { ok: true; again: boolean; balances: unknown[] } | { ok: false; op: number; why: Refusal }

const emptyLedger = (): TestLedger => ({
  accounts: new Map(),
  keys: new Map(),
  days: new Map(),
  uses: new Map(),
  holds: new Map(),
  usedHolds: new Set(),
  charges: new Map(),
  refs: new Set(),
  nonces: new Set(),
  readOnly: false,
})

export class LedgerModel {
  ledger = emptyLedger()
  readonly #outcomes = new Map<string, ModelOutcome & { ok: true }>()

  commit({ id, ops }: Unit): ModelOutcome {
    const known = this.#outcomes.get(id)
    if (known) return { ...known, again: true }
    const ledger = structuredClone(this.ledger)
    const touched = new Set<string>()
    for (const [op, what] of ops.entries()) {
      const why = applyToLedger(ledger, what, touched)
      if (why) return { ok: false, op, why }
    }
    this.ledger = ledger
    const balances = [...touched].map(account => ({ account, ...ledger.accounts.get(account) }))
    const outcome = { ok: true, again: false, balances } as const
    this.#outcomes.set(id, outcome)
    return outcome
  }
}

function applyToLedger(ledger: TestLedger, op: Op, touched: Set<string>): Refusal | null {
  switch (op.op) {
    case 'account':
      if (!ledger.accounts.has(op.account)) ledger.accounts.set(op.account, { posted: 0n, held: 0n })
      return null
    case 'key':
      if (!ledger.accounts.has(op.account)) return 'no_account'
      if (ledger.keys.has(op.key)) return 'key_exists'
      ledger.keys.set(op.key, { account: op.account, budget: op.budget ?? null })
      return null
    case 'keyBudget': {
      const key = ledger.keys.get(op.key)
      if (!key) return 'no_key'
      key.budget = op.budget
      return null
    }
    case 'credit':
      if (!ledger.accounts.has(op.account)) return 'no_account'
      return enter(ledger, op.account, op.ref, op.amount, touched) ? null : 'ref_exists'
    case 'nonce':
      if (ledger.nonces.has(op.key)) return 'nonce_used'
      ledger.nonces.add(op.key)
      return null
    case 'ledger':
      ledger.readOnly = op.state === 'read_only'
      return null
    case 'refund':
      return refund(ledger, op.request, touched)
    case 'hold':
      return hold(ledger, op, touched)
    default:
      return applyToHold(ledger, op, touched)
  }
}

function hold(ledger: TestLedger, op: Hold, touched: Set<string>): Refusal | null {
  if (!ledger.accounts.has(op.account)) return 'no_account'
  const key = op.key ? ledger.keys.get(op.key.key) : null
  if (op.key && key?.account !== op.account) return 'no_key'
  if (ledger.usedHolds.has(op.hold)) return 'hold_exists'
  if (ledger.readOnly) return 'read_only'
  const open = [...ledger.holds.values()].filter(({ account }) => account === op.account)
  if (op.mostOpen != null && open.length >= op.mostOpen) return 'too_many_open'
  const period = key?.budget?.period
  const startMs = period === 'epoch' ? op.key?.epochStartMs : period === 'month' ? op.key?.monthStartMs : 0
  const use = op.key && period ? `${op.key.key} ${period} ${startMs}` : ''
  const day = op.staking ? `${op.account} ${op.staking.dayMs}` : ''
  const limits = key?.budget ?? noLimits
  const fresh = { account: op.account, usd: 0n, staking: 0n, day, key: op.key?.key ?? '', use, limits, ...op.lease }
  const why = draw(ledger, fresh, op.amount, op.staking?.granted ?? null, touched)
  if (why) return why
  ledger.usedHolds.add(op.hold)
  ledger.holds.set(op.hold, fresh)
  return null
}

/** Takes an amount for a hold: the day's credit within the key's share of it, then USD within the key's budget. */
function draw(ledger: TestLedger, hold: OpenHold, amount: bigint, granted: bigint | null, touched: Set<string>) {
  const balance = ledger.accounts.get(hold.account)
  const limits = hold.use ? [hold.limits, ledger.keys.get(hold.key)?.budget ?? noLimits] : []
  const use = ledger.uses.get(hold.use) ?? { usd: 0n, staking: 0n }
  const day = ledger.days.get(hold.day) ?? { granted: 0n, used: 0n }
  const free = [amount, (granted ?? day.granted) - day.used]
  for (const limit of limits) if (limit.staking !== null) free.push(limit.staking - use.staking)
  const least = free.reduce((one, other) => (one < other ? one : other))
  const staking = least < 0n ? 0n : least
  const usd = amount - staking
  if (!balance || balance.posted - balance.held < usd) return 'insufficient_funds'
  if (limits.some(limit => limit.usd !== null && limit.usd - use.usd < usd)) return 'over_budget'
  balance.held += usd
  touched.add(hold.account)
  if (hold.day) ledger.days.set(hold.day, { granted: granted ?? day.granted, used: day.used + staking })
  if (hold.use) ledger.uses.set(hold.use, { usd: use.usd + usd, staking: use.staking + staking })
  hold.usd += usd
  hold.staking += staking
  return null
}

function applyToHold(ledger: TestLedger, op: Op, touched: Set<string>): Refusal | null {
  if (!('hold' in op)) throw new Error(`The model does not know ${op.op}.`)
  const hold = ledger.holds.get(op.hold)
  if (!hold) return 'no_hold'
  if (op.op === 'extend') return extend(ledger, hold, op, touched)
  if (op.op === 'renew') {
    if (hold.owner !== op.lease.owner) return 'not_owner'
    hold.untilMs = op.lease.untilMs
    return null
  }
  if ('onlyIfExpired' in op && op.onlyIfExpired && op.onlyIfExpired.atMs < hold.untilMs) return 'lease_live'
  let charged = 0n
  if (op.op === 'capture' && op.lines.length > 0) {
    if (ledger.charges.has(op.request)) return 'request_charged'
    charged = costOf(op)
    if (charged > hold.usd + hold.staking) return 'over_hold'
  }
  const staking = charged < hold.staking ? charged : hold.staking
  const spent = { ...hold, usd: charged - staking, staking }
  if (op.op === 'capture' && op.lines.length > 0) ledger.charges.set(op.request, spent)
  ledger.holds.delete(op.hold)
  const balance = ledger.accounts.get(hold.account)
  if (balance) balance.held -= hold.usd
  free(ledger, { ...hold, usd: hold.usd - spent.usd, staking: hold.staking - spent.staking })
  enter(ledger, hold.account, null, -spent.usd, touched)
  return null
}

function extend(ledger: TestLedger, hold: OpenHold, op: Extend, touched: Set<string>): Refusal | null {
  if (ledger.readOnly) return 'read_only'
  return draw(ledger, hold, op.amount, null, touched)
}

const costOf = ({ lines, writeOff = 0n }: Omit<Capture, 'writeOff'> & { writeOff?: bigint }): bigint =>
  lines.reduce((sum, line) => sum + line.amount, -writeOff)

function refund(ledger: TestLedger, request: string, touched: Set<string>): Refusal | null {
  const charge = ledger.charges.get(request)
  if (!charge) return 'nothing_to_refund'
  if (!enter(ledger, charge.account, `refund:${request}`, charge.usd, touched)) return 'refunded'
  free(ledger, charge)
  return null
}

/** What is no longer held or spent, of the day and of the key's period. */
function free(ledger: TestLedger, { day, use, usd, staking }: OpenHold): void {
  const credit = ledger.days.get(day)
  if (credit) credit.used -= staking
  const counted = ledger.uses.get(use)
  if (!counted) return
  counted.usd -= usd
  counted.staking -= staking
}

function enter(ledger: TestLedger, account: string, ref: string | null, amount: bigint, touched: Set<string>): boolean {
  const balance = ledger.accounts.get(account)
  if (!balance || (ref !== null && ledger.refs.has(ref))) return false
  if (ref !== null) ledger.refs.add(ref)
  balance.posted += amount
  touched.add(account)
  return true
}
