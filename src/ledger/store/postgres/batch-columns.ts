import type { KeyBudget } from '../account-ops.ts'
import { type Op, storeOwed } from '../units.ts'
import { lockFor, noLocks, type SentUnit } from './sent-unit.ts'

/**
 * One operation as the batch function receives it, in the order of its columns. Operations that are rare compared with
 * holds and captures carry their specific members as JSON. Operations that compare and set use `owner` for the state
 * that was seen, `word` for the next one and `amount` for the fence.
 */
interface OpRow {
  kind: Op['op']
  name?: string
  account?: string
  amount?: bigint | number
  atMs?: number
  owner?: string | null
  untilMs?: number
  key?: string | undefined
  epochMs?: number | undefined
  monthMs?: number | undefined
  dayMs?: number | undefined
  granted?: bigint | undefined
  mostOpen?: number | null | undefined
  expiredAtMs?: number | undefined
  request?: string
  word?: string | null
  writeOff?: bigint
  fields?: string | null
}

/** For each member of a row, the parameter that carries it for all rows. */
const parameterOf = {
  kind: 'kinds',
  name: 'names',
  account: 'accounts',
  amount: 'amounts',
  atMs: 'times_ms',
  owner: 'owners',
  untilMs: 'until_ms',
  key: 'keys',
  epochMs: 'epochs_ms',
  monthMs: 'months_ms',
  dayMs: 'days_ms',
  granted: 'granted',
  mostOpen: 'most_open',
  expiredAtMs: 'expired_at_ms',
  request: 'requests',
  word: 'words',
  writeOff: 'write_offs',
  fields: 'fields',
} as const satisfies Record<keyof OpRow, string>

const members = Object.keys(parameterOf) as (keyof OpRow)[]

/** The parameters of `commit_batch`, in the order of `batchValues`. */
export const batchParameters = [
  ...['unit_ids', 'unit_ops', 'unit_twins', 'op_of', 'may_be_plain'],
  ...['lock_accounts', 'lock_holds', 'lock_keys', 'lock_charges', 'lock_jobs', 'lock_names'],
  ...Object.values(parameterOf),
  ...['first_lines', 'line_counts', 'flushes', 'skus', 'line_units', 'prices', 'line_amounts'],
  ...['line_ops', 'line_places', 'line_sums'],
]

/** One array per parameter. */
export function batchValues(units: readonly SentUnit[]): (string | null)[] {
  const locks = noLocks()
  const columns: Cell[][] = members.map(() => [])
  const lines: Lines = {
    first: [],
    count: [],
    skus: [],
    units: [],
    prices: [],
    amounts: [],
    ops: [],
    places: [],
    sums: [],
  }
  const flushes: boolean[] = []
  const plain: boolean[] = []
  const firstOps: (number | null)[] = []
  const named = new Set<string>()
  const changed = new Set<string>()
  const twins = twinsOf(units)
  for (const [index, { unit, isLookUp }] of units.entries()) {
    firstOps.push(isLookUp ? null : flushes.length + 1)
    if (isLookUp) continue
    for (const op of unit.ops) {
      const flushed = mustFlush(op, named)
      flushes.push(flushed)
      plain.push(unit.ops.length === 1 && twins[index] === 0 && !flushed && mayBePlain(op, changed))
      noteChange(op, changed)
      lockFor(op, unit.id, locks)
      const row = rowOf(op)
      for (const [place, member] of members.entries()) columns[place]?.push(row[member] ?? null)
      addLines(op, lines)
    }
  }
  const { accounts, holds, keys, charges, jobs, names } = locks
  return [
    units.map(({ unit }) => unit.id),
    units.map(({ unit, isLookUp }) => (isLookUp ? 0 : unit.ops.length)),
    ...[twins, firstOps, plain],
    ...[accounts, holds, keys, charges, jobs, names].map(set => [...set]),
    ...columns,
    ...[lines.first, lines.count, flushes, lines.skus, lines.units, lines.prices, lines.amounts],
    ...[lines.ops, lines.places, lines.sums],
  ].map(arrayText)
}

/**
 * Whether everything about this operation may be looked up before the first operation of the batch is applied. The
 * function itself finds out whether a budget or staking credit is involved.
 */
function mayBePlain(op: Op, changed: ReadonlySet<string>): boolean {
  switch (op.op) {
    case 'hold':
      return !op.staking && !changed.has(`account:${op.account}`) && !(op.key && changed.has(`key:${op.key.key}`))
    case 'capture':
      return !op.writeOff
    case 'release':
      return true
    default:
      return false
  }
}

/** Records what a hold depends on in addition to its account's balance. */
function noteChange(op: Op, changed: Set<string>): void {
  if (op.op === 'account' || op.op === 'suspend' || op.op === 'resume') changed.add(`account:${op.account}`)
  else if (op.op === 'key' || op.op === 'keyBudget' || op.op === 'revokeKey') changed.add(`key:${op.key}`)
}

/**
 * Whether earlier additions of the batch must be written before this operation, because it looks for a row with the
 * same name. Remembers all names of the batch, because it is not known here which units were applied before and write
 * nothing.
 */
function mustFlush(op: Op, named: Set<string>): boolean {
  const own = namesOfRows(op)
  const flushes = own.some(name => named.has(name))
  for (const name of own) named.add(name)
  return flushes
}

function namesOfRows(op: Op): string[] {
  switch (op.op) {
    case 'hold':
    case 'extend':
    case 'renew':
    case 'release':
      return [`hold:${op.hold}`]
    case 'capture':
      return [`hold:${op.hold}`, `request:${op.request}`]
    case 'refund':
      return [`request:${op.request}`]
    case 'credit':
      return [`ref:${op.ref}`]
    default:
      return []
  }
}

/** For each unit, the 1-based position of the previous one with the same id; 0 if there is none. */
function twinsOf(units: readonly SentUnit[]): number[] {
  const places = new Map<string, number>()
  return units.map(({ unit }, index) => {
    const twin = places.get(unit.id) ?? 0
    places.set(unit.id, index + 1)
    return twin
  })
}

interface Lines {
  first: number[]
  count: number[]
  skus: string[]
  units: bigint[]
  prices: bigint[]
  amounts: bigint[]
  /** For each line, its operation (1-based), its position in the capture, and the running amount. */
  ops: number[]
  places: number[]
  sums: bigint[]
}

function addLines(op: Op, lines: Lines): void {
  const own = op.op === 'capture' ? op.lines : []
  lines.first.push(lines.skus.length + 1)
  lines.count.push(own.length)
  let sum = 0n
  for (const [place, { sku, units, unitPricePicoUsd, amount }] of own.entries()) {
    sum += amount
    lines.ops.push(lines.first.length)
    lines.places.push(place)
    lines.sums.push(sum)
    lines.skus.push(sku)
    lines.units.push(units)
    lines.prices.push(unitPricePicoUsd)
    lines.amounts.push(amount)
  }
}

function rowOf(op: Op): OpRow {
  switch (op.op) {
    case 'hold': {
      const { hold: name, account, amount, lease, key, staking, mostOpen, atMs } = op
      const caller = { key: key?.key, epochMs: key?.epochStartMs, monthMs: key?.monthStartMs }
      const drawnOn = { dayMs: staking?.dayMs, granted: staking?.granted, mostOpen }
      return {
        kind: 'hold',
        name,
        account,
        amount,
        atMs,
        owner: lease.owner,
        untilMs: lease.untilMs,
        ...caller,
        ...drawnOn,
      }
    }
    case 'extend':
      return { kind: 'extend', name: op.hold, amount: op.amount }
    case 'renew': {
      const fields = op.owed ? storeOwed(op.owed) : null
      return { kind: 'renew', name: op.hold, owner: op.lease.owner, untilMs: op.lease.untilMs, fields }
    }
    case 'capture': {
      const amount = op.lines.reduce((sum, line) => sum + line.amount, 0n)
      const { hold: name, request, model: word, writeOff = 0n, onlyIfExpired, atMs } = op
      const charge = op.lines.length > 0 ? { request, word, writeOff } : {}
      return { kind: 'capture', name, amount, atMs, expiredAtMs: onlyIfExpired?.atMs, ...charge }
    }
    case 'release':
      return { kind: 'release', name: op.hold, amount: 0n, expiredAtMs: op.onlyIfExpired?.atMs }
    case 'credit': {
      const { account, amount, source: word, ref: name, atMs } = op
      return { kind: 'credit', name, account, amount, atMs, word }
    }
    case 'refund':
      return { kind: 'refund', request: op.request, word: op.reason, atMs: op.atMs }
    case 'nonce':
      return { kind: 'nonce', name: op.key, untilMs: op.expiresAtMs }
    default:
      return rareRowOf(op)
  }
}

type RareOp = Exclude<Op, { op: 'hold' | 'extend' | 'renew' | 'capture' | 'release' | 'credit' | 'refund' | 'nonce' }>

function rareRowOf(op: RareOp): OpRow {
  switch (op.op) {
    case 'account':
      return { kind: 'account', account: op.account, word: op.kind, atMs: op.atMs }
    case 'wallet':
      return { kind: 'wallet', name: op.wallet, account: op.account, atMs: op.atMs }
    case 'key': {
      const { key: name, account, atMs, hash, prefix, label, role, ending, mostActive, expiresAtMs, budget } = op
      const shown = { prefix, label, role, ending }
      return {
        kind: 'key',
        name,
        account,
        atMs,
        fields: json({ hash, ...shown, mostActive, expiresAtMs, ...budgetOf(budget) }),
      }
    }
    case 'keyBudget':
      return {
        kind: 'keyBudget',
        name: op.key,
        fields: json({
          ...budgetOf(op.budget),
          label: op.label,
          expiresAtMs: op.expiresAtMs,
          before: op.before && { ...budgetOf(op.before.budget), expiresAtMs: op.before.expiresAtMs },
          covers: op.covers,
        }),
      }
    case 'revokeKey':
      return { kind: 'revokeKey', name: op.key, atMs: op.atMs }
    case 'customer':
      return { kind: 'customer', account: op.account, atMs: op.atMs, fields: json(op.set) }
    case 'suspend':
      return { kind: 'suspend', account: op.account, word: op.reason, atMs: op.atMs }
    case 'resume':
      return { kind: 'resume', account: op.account }
    case 'act': {
      const { actor, subject, reason, before, after } = op
      const fields = json({ actor, subject, reason, before, after })
      return { kind: 'act', account: op.account ?? undefined, word: op.act, atMs: op.atMs, fields }
    }
    case 'operator': {
      const { operator: name, fence: amount, set, atMs } = op
      return { kind: 'operator', name, amount, atMs, fields: set && json(set) }
    }
    case 'job':
      return moveOf('job', op.job, op)
    case 'payment':
      return moveOf('payment', op.payment, op)
    case 'claim':
      return moveOf('claim', op.claim, op)
    case 'limit': {
      const { account, key, model, tier, type, atMs } = op
      return { kind: 'limit', account, atMs, fields: json({ key, model, tier, type }) }
    }
    case 'ledger':
      return { kind: 'ledger', word: op.state, fields: op.reason, atMs: op.atMs }
    case 'secret':
      return { kind: 'secret', name: op.mark, amount: op.generation, word: op.place, atMs: op.atMs }
    case 'receiptKey':
      return { kind: 'receiptKey', name: op.key, word: op.publicKey, atMs: op.atMs }
    default:
      // Not an operation of this version; the batch function refuses it by name.
      return { kind: (op as Op).op }
  }
}

type Move = Extract<Op, { op: 'job' | 'payment' | 'claim' }>

const moveOf = (kind: Move['op'], name: string, { from: owner, to: word, fence: amount, set, atMs }: Move): OpRow => ({
  ...{ kind, name, owner, word, amount, atMs },
  fields: json(set),
})

const budgetOf = (budget: KeyBudget | null | undefined) =>
  budget ? { period: budget.period, usd: budget.usd, staking: budget.staking } : {}

/** Amounts travel as decimal text, because JSON has no large integers. */
const json = (fields: object): string =>
  JSON.stringify(fields, (_name, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))

type Cell = string | bigint | number | boolean | null

/**
 * Formats an array for PostgreSQL; null if no cell has a value, as in most columns of most batches. The driver would
 * quote and scan each cell, numbers too, which took a third of a unit's time in this process.
 */
function arrayText(cells: readonly Cell[]): string | null {
  if (cells.length > 0 && cells.every(cell => cell === null)) return null
  return `{${cells.map(cellText).join()}}`
}

function cellText(cell: Cell): string {
  if (cell === null) return 'NULL'
  if (typeof cell !== 'string') return `${cell}`
  return /["\\]/.test(cell) ? `"${cell.replaceAll(/["\\]/g, '\\$&')}"` : `"${cell}"`
}
