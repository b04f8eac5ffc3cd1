import { entryRefs } from '../entry-refs.ts'
import { storeOwed } from '../owed.ts'
import type { KeyBudget, Op } from '../units.ts'
import type { SentUnit } from './sent-unit.ts'

type Cell = string | bigint | number | boolean | null

/**
 * One operation as the batch function takes it, in the order of its columns. Operations that are few beside holds and
 * captures carry what is special to them as JSON, and those that compare and set use `owner` for the state that was seen,
 * `word` for the next one and `amount` for the fence.
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

const opColumns = [
  ...(['kind', 'name', 'account', 'amount', 'atMs', 'owner', 'untilMs', 'key', 'epochMs', 'monthMs'] as const),
  ...(['dayMs', 'granted', 'mostOpen', 'expiredAtMs', 'request', 'word', 'writeOff', 'fields'] as const),
]

/** What has to be locked before a batch is judged; see the function `lock_all`. */
interface Locks {
  accounts: Set<string>
  holds: Set<string>
  keys: Set<string>
  charges: Set<string>
  jobs: Set<string>
  names: Set<string>
}

/** The parameters of `commit_units`, in their order. */
export function batchValues(units: readonly SentUnit[]): Cell[][] {
  const locks = noLocks()
  const columns: Cell[][] = opColumns.map(() => [])
  const lines: Lines = { first: [], count: [], skus: [], units: [], prices: [], amounts: [] }
  const flushes: boolean[] = []
  const named = new Set<string>()
  for (const { unit, isLookUp } of units) {
    if (isLookUp) continue
    for (const op of unit.ops) {
      flushes.push(mustFlush(op, named))
      lockFor(op, unit.id, locks)
      const row = rowOf(op)
      for (const [index, column] of opColumns.entries()) columns[index]?.push(row[column] ?? null)
      addLines(op, lines)
    }
  }
  const { accounts, holds, keys, charges, jobs, names } = locks
  return [
    units.map(({ unit }) => unit.id),
    units.map(({ unit, isLookUp }) => (isLookUp ? 0 : unit.ops.length)),
    twinsOf(units),
    ...[accounts, holds, keys, charges, jobs, names].map(set => [...set]),
    ...columns,
    ...[lines.first, lines.count, flushes, lines.skus, lines.units, lines.prices, lines.amounts],
  ]
}

/**
 * Whether what earlier operations of the batch add has to be written before this one, because it looks for a row of the
 * same name. Keeps all names of the batch: a unit that has been applied before writes nothing, and nobody knows here.
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

const noLocks = (): Locks => ({
  accounts: new Set(),
  holds: new Set(),
  keys: new Set(),
  charges: new Set(),
  jobs: new Set(),
  names: new Set(),
})

/** For each unit the place, counted from 1, of the one before it with the same id; 0 where there is none. */
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
}

function addLines(op: Op, lines: Lines): void {
  const own = op.op === 'capture' ? op.lines : []
  lines.first.push(lines.skus.length + 1)
  lines.count.push(own.length)
  for (const { sku, units, unitPricePicoUsd, amount } of own) {
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
      return { kind: 'capture', name, amount, atMs, expiredAtMs: onlyIfExpired?.atMs, request, word, writeOff }
    }
    case 'release':
      return { kind: 'release', name: op.hold, expiredAtMs: op.onlyIfExpired?.atMs }
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
      const { key: name, account, atMs, hash, prefix, label, expiresAtMs, budget } = op
      return {
        kind: 'key',
        name,
        account,
        atMs,
        fields: json({ hash, prefix, label, expiresAtMs, ...budgetOf(budget) }),
      }
    }
    case 'keyBudget':
      return { kind: 'keyBudget', name: op.key, fields: json(budgetOf(op.budget)) }
    case 'revokeKey':
      return { kind: 'revokeKey', name: op.key, atMs: op.atMs }
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
    default:
      // No operation of this version; the batch function refuses it by its name.
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

/** Names that may have no row yet are locked by themselves; what belongs to an account is guarded by its row. */
function lockFor(op: Op, unitId: string, locks: Locks): void {
  switch (op.op) {
    case 'hold':
      locks.accounts.add(op.account)
      locks.names.add(`hold:${op.hold}`)
      return
    case 'extend':
    case 'renew':
    case 'release':
      locks.holds.add(op.hold)
      return
    case 'capture':
      locks.holds.add(op.hold)
      if (op.lines.length > 0) locks.names.add(`request:${op.request}`)
      return
    case 'credit':
      locks.accounts.add(op.account)
      locks.names.add(`ref:${op.ref}`)
      return
    case 'refund':
      locks.charges.add(entryRefs.charge(op.request))
      return
    case 'keyBudget':
    case 'revokeKey':
      locks.keys.add(op.key)
      return
    case 'job':
      locks.jobs.add(op.job)
      if (op.from === null) for (const name of [`job:${op.job}`, `paid:${op.set.request}`]) locks.names.add(name)
      return
    default:
      for (const name of freeNamesOf(op, unitId)) locks.names.add(name)
  }
}

type NamedOp = Extract<Op, { op: 'account' | 'wallet' | 'key' | 'nonce' | 'payment' | 'claim' | 'limit' | 'ledger' }>

function freeNamesOf(op: NamedOp, unitId: string): string[] {
  switch (op.op) {
    case 'account':
      return [`account:${op.account}`]
    case 'wallet':
      return [`wallet:${op.wallet}`]
    case 'key':
      return [`key:${op.key}`, `hash:${op.hash}`]
    case 'nonce':
      return [`nonce:${op.key}`]
    case 'payment':
      return [`payment:${op.payment}`]
    case 'claim':
      return [`claim:${op.claim}`]
    case 'limit':
      // It has no name of its own, and a unit that is sent again must still wait for its first sending.
      return [`unit:${unitId}`]
    case 'ledger':
      return ['ledger']
    default:
      return []
  }
}
