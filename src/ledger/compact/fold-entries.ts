import type { Selectable } from 'kysely'
import type { FoldedEntry } from '../store/entry-fold.ts'
import type { EntryTable } from '../store/tables.ts'
import { entryRefs } from '../store/units.ts'

/** The columns of an entry that folding reads. */
export const foldedColumns = [
  ...(['seq', 'kind', 'account', 'debit', 'credit', 'amount', 'effect', 'posted_after', 'request', 'model'] as const),
  ...(['sku', 'api_key', 'budget_period', 'budget_start_ms', 'staking_day_ms', 'created_at_ms'] as const),
] as const

export type OldEntry = Pick<Selectable<EntryTable>, (typeof foldedColumns)[number]>

/** Prefix of a sum's request and of the SKUs of its lines, which distinguishes them from those of calls. */
const archived = 'archived'

/** Whether a request is itself a sum of earlier ones. */
export const isFolded = (request: string): boolean => request.startsWith(`${archived}:`)

/** One unit of such a line is a micro-USD, because the calls that it replaces may have had different prices. */
const microUsdInPico = 1_000_000n

/** Requests that one key paid for, in one period of its budget, and with staking credit of one day or none. */
interface Group {
  payer: Pick<OldEntry, 'api_key' | 'budget_period' | 'budget_start_ms' | 'staking_day_ms'>
  writtenOff: bigint
  staking: bigint
  lines: Map<string, Pick<OldEntry, 'model' | 'sku'> & { amount: bigint }>
}

/**
 * Folds consecutive entries of one account and month, all of complete requests without refunds, into one charge for
 * each group of payers, with one line for each model and SKU. Each sum is an ordinary entry, so that every sum over the
 * entries, above all the audit's, stays the same.
 */
export function foldRun(run: readonly OldEntry[]): FoldedEntry[] {
  const [first, last] = [run[0], run.at(-1)]
  if (!first || !last) return []
  const groups = [...groupsOf(run).values()]
  const sums = [...groups.flatMap(givenOf), ...groups.flatMap(linesOf)]
  let postedAfter = first.posted_after - first.effect
  return sums.map(({ group, kind, amount, line, model, sku }, place) => {
    const number = groups.indexOf(group)
    const request = `${archived}:${new Date(last.created_at_ms).toISOString().slice(0, 7)}:${first.seq}.${number}`
    const isLine = kind === 'CHARGE'
    postedAfter += isLine ? -amount : amount
    return {
      seq: run.at(place - sums.length)?.seq ?? last.seq,
      id: `${request}/${kind.toLowerCase()}.${line}`,
      kind,
      ...sidesOf(kind, first.account),
      account: first.account,
      amount,
      posted_after: postedAfter,
      ref: refs[kind](request),
      line,
      request,
      model,
      sku: sku === null ? null : `${archived}.${sku}`,
      units: isLine ? amount : null,
      unit_price_pico_usd: isLine ? microUsdInPico : null,
      reason: null,
      ...group.payer,
      staking_day_ms: kind === 'STAKING' ? group.payer.staking_day_ms : null,
      created_at_ms: last.created_at_ms,
    }
  })
}

type SumKind = 'WRITE_OFF' | 'STAKING' | 'CHARGE'

interface Sum {
  group: Group
  kind: SumKind
  amount: bigint
  line: number
  model: string | null
  sku: string | null
}

const refs = { WRITE_OFF: entryRefs.writeOff, STAKING: entryRefs.staking, CHARGE: entryRefs.charge }

const sidesOf = (kind: SumKind, account: string) =>
  ({
    WRITE_OFF: { debit: 'system:writeoff', credit: account },
    STAKING: { debit: 'system:staking', credit: account },
    CHARGE: { debit: account, credit: 'system:revenue' },
  })[kind]

function groupsOf(run: readonly OldEntry[]): Map<string, Group> {
  const groups = new Map<string, Group>()
  for (const entries of Map.groupBy(run, ({ request }) => request).values()) {
    const [entry] = entries
    if (!entry) continue
    const { api_key, budget_period, budget_start_ms } = entry
    const staking_day_ms = entries.find(({ kind }) => kind === 'STAKING')?.staking_day_ms ?? null
    const payer = { api_key, budget_period, budget_start_ms, staking_day_ms }
    const name = JSON.stringify(Object.values(payer))
    const group = groups.get(name) ?? { payer, writtenOff: 0n, staking: 0n, lines: new Map() }
    groups.set(name, group)
    for (const each of entries) addTo(group, each)
  }
  return groups
}

function addTo(group: Group, { kind, amount, model, sku }: OldEntry): void {
  if (kind === 'WRITE_OFF') group.writtenOff += amount
  else if (kind === 'STAKING') group.staking += amount
  else {
    const name = JSON.stringify([model, sku])
    const line = group.lines.get(name) ?? { model, sku, amount: 0n }
    group.lines.set(name, { ...line, amount: line.amount + amount })
  }
}

/** The parts that others paid come before the lines, as in each charge, so that no entry leaves a negative balance. */
function givenOf(group: Group): Sum[] {
  const rest = { group, line: 0, model: null, sku: null }
  return [
    { kind: 'WRITE_OFF' as const, amount: group.writtenOff, ...rest },
    { kind: 'STAKING' as const, amount: group.staking, ...rest },
  ].filter(({ amount }) => amount > 0n)
}

const linesOf = (group: Group): Sum[] =>
  [...group.lines.values()]
    .filter(({ amount }) => amount > 0n)
    .map((line, place) => ({ group, kind: 'CHARGE' as const, line: place, ...line }))
