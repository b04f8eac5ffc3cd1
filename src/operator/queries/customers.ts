import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { keyPrefix } from '#access/keys/key-hash.ts'
import { planNamed } from '#contract/limits.ts'
import { formatUsd } from '#contract/money.ts'
import { textOfDay } from '#contract/time.ts'
import { jsonOf } from '#contract/wire/json.ts'
import { periodStarts } from '#ledger/accounts/keys.ts'
import type { Store } from '#ledger/store/store.ts'
import type { CustomerView } from '#pages/console/answers.ts'
import { refuse } from '../operator-refused.ts'
import { actsOf } from './acts.ts'
import { hitsOf } from './limits.ts'
import type { OperatorContext } from './operator-context.ts'
import { rangeOf, shownSums, sumColumns, sumsWithin } from './sums.ts'
import { isStorable, type OperatorAnswer, type OperatorOrder } from './wire.ts'

type Reading = Pick<Store, 'read'>

interface StoredCustomer {
  id: string
  kind: 'wallet' | 'customer'
  name: string | null
  email: string | null
  note: string | null
  plan: string | null
  suspended_at_ms: number | null
  suspended_reason: string | null
  created_at_ms: number
  posted: bigint
  held: bigint
}

const columns = sql.raw(`a.id, a.kind, c.name, c.email, c.note, c.plan, a.suspended_at_ms, a.suspended_reason,
  a.created_at_ms, a.posted, a.held`)

const shown = (row: StoredCustomer): CustomerView => ({
  customer: row.id,
  name: row.name,
  kind: row.kind,
  email: row.email,
  note: row.note,
  plan: planNamed(row.plan),
  state: row.suspended_at_ms === null ? 'active' : 'suspended',
  suspendedAtMs: row.suspended_at_ms,
  suspendedReason: row.suspended_reason,
  createdAtMs: row.created_at_ms,
  balanceUsd: formatUsd(row.posted),
  heldUsd: formatUsd(row.held),
  availableUsd: formatUsd(row.posted - row.held),
})

/** By what a list is sorted, and then by id: the place of a row. */
const orders = {
  created: 'a.created_at_ms',
  name: "lower(coalesce(c.name, ''))",
  balance: 'a.posted',
  charged: 'coalesce(s.charged_usd, 0)',
} as const

export async function customers(
  context: OperatorContext,
  order: OperatorOrder<'customers'>,
): Promise<OperatorAnswer<'customers'>> {
  const { sort, limit } = order
  const { fromMs, toMs } = rangeOf(order, context.clock.now())
  const found = sql`account a LEFT JOIN customer c ON c.account = a.id WHERE ${matching(order)}`
  const sums = sql`SELECT account, ${sumColumns} FROM day_sum WHERE day_ms >= ${fromMs} AND day_ms < ${toMs}`
  const isUp = order.order === 'up'
  const way = sql.raw(isUp ? 'ASC' : 'DESC')
  const last = order.after === undefined ? null : placeAfter(order.after, sort)
  const place = sql.raw(orders[sort])
  const beyond = (id: string): RawBuilder<unknown> =>
    last ? sql`(${place}, ${sql.raw(id)}) ${sql.raw(isUp ? '>' : '<')} (${last.place}, ${last.id})` : sql`1 = 1`
  const paged = sql`${found} AND ${beyond('a.id')} ORDER BY ${place} ${way}, a.id ${way} LIMIT ${limit + 1}`
  // Only sorting by charges needs the sums of all customers.
  const rows =
    sort === 'charged'
      ? sql`SELECT p.*, s.*, ${place} AS place FROM (SELECT ${columns} FROM ${found}) p
          LEFT JOIN (${sums} GROUP BY account) s ON s.account = p.id WHERE ${beyond('p.id')}
          ORDER BY ${place} ${way}, p.id ${way} LIMIT ${limit + 1}`
      : sql`SELECT p.*, s.* FROM (SELECT ${columns}, ${place} AS place FROM ${paged}) p
          LEFT JOIN (${sums} AND account IN (SELECT a.id FROM ${paged}) GROUP BY account) s ON s.account = p.id
          ORDER BY p.place ${way}, p.id ${way}`
  const [listed, counted] = await Promise.all([
    (rows as RawBuilder<PlacedCustomer & Parameters<typeof shownSums>[0]>).execute(context.store.read),
    sql<{ n: number }>`SELECT CAST(count(*) AS bigint) AS n FROM ${found}`.execute(context.store.read),
  ])
  const listedRows = listed.rows.slice(0, limit)
  const lastRow = listedRows.at(-1)
  return {
    rows: listedRows.map(row => ({ ...shown(row), ...shownSums(row) })),
    total: counted.rows[0]?.n ?? 0,
    next: lastRow && listed.rows.length > limit ? nextOf(sort, lastRow) : null,
  }
}

type Sort = OperatorOrder<'customers'>['sort']

interface PlacedCustomer extends StoredCustomer {
  /** The value by which the list is sorted. */
  place: string | number | bigint
}

/** Names the last row of a page by its place and id, so that rows which come or go meanwhile move no other row. */
const nextOf = (sort: Sort, { place, id }: PlacedCustomer): string =>
  Buffer.from(JSON.stringify([sort, `${place}`, id])).toString('base64url')

const Next = z.tuple([z.string(), z.string().refine(isStorable), z.string().refine(isStorable)])

/** Returns the place after which a page begins. Throws unless `after` is the `next` of a list that is sorted the same. */
function placeAfter(after: string, sort: Sort): { place: string | bigint; id: string } {
  const read = Next.safeParse(jsonOf(Buffer.from(after, 'base64url').toString()))
  const [of, place = '', id = ''] = read.data ?? []
  const isNumber = /^-?\d{1,18}$/.test(place)
  if (of !== sort || (sort !== 'name' && !isNumber))
    throw refuse(`\`after\` is not a \`next\` value of this list, sorted by \`${sort}\`.`)
  return { place: sort === 'name' ? place : BigInt(place), id }
}

/** Characters that LIKE treats as wildcards. */
const escaped = (text: string): string => text.replace(/[\\%_]/g, character => `\\${character}`)

/**
 * Returns the forms that the database's `lower` may give a text: of letters beyond ASCII it changes none. A name is found
 * as it was written, and in either case if its other letters have one case.
 */
const loweredForms = (text: string): string[] => [
  ...new Set([text, text.toLowerCase(), text.toUpperCase()].map(asciiLowered)),
]

const asciiLowered = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase())

function matching({ search = '', state }: OperatorOrder<'customers'>): RawBuilder<unknown> {
  const terms = [sql`1 = 1`]
  if (state !== undefined) terms.push(sql.raw(`a.suspended_at_ms IS ${state === 'active' ? '' : 'NOT '}NULL`) as never)
  const text = search.trim()
  if (text !== '') {
    const parts = loweredForms(text).map(form => `%${escaped(form)}%`)
    const named = ['c.name', 'c.email', 'c.note', 'a.id'].flatMap(column =>
      parts.map(part => sql`lower(coalesce(${sql.raw(column)}, '')) LIKE ${part} ESCAPE '\\'`),
    )
    const wallets = sql`SELECT account FROM wallet WHERE id IN (${text}, ${text.toLowerCase()})`
    // Lists show the beginning of a key. A complete key finds its owner too, and is never part of an answer.
    const keys = sql`SELECT account FROM api_key WHERE id = ${text} OR prefix = ${keyPrefix(text)}`
    terms.push(sql`(${sql.join(named, sql` OR `)} OR a.id IN (${wallets}) OR a.id IN (${keys}))`)
  }
  return sql.join(terms, sql` AND `)
}

/** Finds a customer by id, wallet, key id, name or e-mail; refuses text that matches none or several. */
export async function customerNamed({ read }: Reading, text: string): Promise<StoredCustomer> {
  const [exact] = (await customersWhere(read, sql`a.id = ${text}`)).rows
  // Actions use an id, so the other columns need no search.
  if (exact) return exact
  const forms = sql.join(loweredForms(text))
  const { rows } = await customersWhere(
    read,
    sql`lower(coalesce(c.name, '')) IN (${forms}) OR lower(coalesce(c.email, '')) IN (${forms})
      OR a.id IN (SELECT account FROM wallet WHERE id IN (${text}, ${text.toLowerCase()}))
      OR a.id IN (SELECT account FROM api_key WHERE id = ${text})`,
  )
  const [only, other] = rows
  if (!only)
    throw refuse(`There is no customer \`${text}\`: give an id, a name, an e-mail, a wallet or the id of a key.`)
  if (other)
    throw refuse(`Several customers are named \`${text}\`; give an id: ${rows.map(({ id }) => id).join(', ')}.`)
  return only
}

/** Replaces anything that identifies a customer, such as a name, by the customer's id. */
export async function withId<Asked extends { customer?: string | undefined }>(
  { store }: OperatorContext,
  asked: Asked,
): Promise<Asked> {
  if (asked.customer === undefined) return asked
  return { ...asked, customer: (await customerNamed(store, asked.customer)).id }
}

const customersWhere = (read: Store['read'], where: RawBuilder<unknown>) =>
  sql<StoredCustomer>`SELECT ${columns} FROM account a LEFT JOIN customer c ON c.account = a.id
    WHERE ${where} ORDER BY a.id LIMIT ${shownNamesakes}`.execute(read)

const shownNamesakes = 5

/** The numbers of models, wallets and actions on a customer's page. */
const shownOnPage = 50

export async function customer(
  context: OperatorContext,
  order: OperatorOrder<'customer'>,
): Promise<OperatorAnswer<'customer'>> {
  const { store } = context
  const nowMs = context.clock.now()
  const row = await customerNamed(store, order.customer)
  const range = rangeOf(order, nowMs)
  const filter = { ...range, customer: row.id }
  const [sums, wallets, keys, limits, acts] = await Promise.all([
    sumsWithin(store, filter, shownOnPage),
    store.read
      .selectFrom('wallet')
      .select('id')
      .where('account', '=', row.id)
      .orderBy('id')
      .limit(shownOnPage)
      .execute(),
    keysOf(store, row.id, nowMs),
    hitsOf(store, { sinceMs: range.fromMs, customer: row.id }),
    actsOf(context, { customer: row.id, limit: shownOnPage }),
  ])
  const days = { from: textOfDay(range.fromMs), to: textOfDay(range.toMs) }
  return {
    ...{ customer: shown(row), ...days, ...sums, limits },
    wallets: wallets.map(({ id }) => id),
    keys,
    acts: acts.rows,
  }
}

/** The number of keys on a customer's page. */
const shownKeys = 500

async function keysOf({ read }: Reading, account: string, nowMs: number) {
  const { epochStartMs, monthStartMs } = periodStarts(nowMs)
  const rows = await read
    .selectFrom('api_key')
    .selectAll('api_key')
    .select(
      sql<
        bigint | null
      >`(SELECT u.spent_usd FROM key_use u WHERE u.key = api_key.id AND u.period = api_key.budget_period
        AND u.start_ms = CASE api_key.budget_period WHEN 'epoch' THEN CAST(${epochStartMs} AS bigint)
          WHEN 'month' THEN CAST(${monthStartMs} AS bigint) ELSE 0 END)`.as('used_usd'),
    )
    .where('account', '=', account)
    .orderBy('id', 'desc')
    .limit(shownKeys)
    .execute()
  const usd = (amount: bigint | null) => (amount === null ? null : formatUsd(amount))
  return rows.map(row => ({
    ...{ key: row.id, prefix: row.prefix, label: row.label, role: row.role },
    state: stateOf(row, nowMs),
    ...{ createdAtMs: row.created_at_ms, expiresAtMs: row.expires_at_ms },
    budget:
      row.budget_period === null
        ? null
        : {
            ...{ period: row.budget_period, usd: usd(row.budget_usd), staking: usd(row.budget_staking_usd) },
            usedUsd: formatUsd(row.used_usd ?? 0n),
          },
  }))
}

function stateOf(row: { revoked_at_ms: number | null; expires_at_ms: number | null }, nowMs: number) {
  if (row.revoked_at_ms !== null) return 'revoked' as const
  return row.expires_at_ms !== null && row.expires_at_ms <= nowMs ? ('expired' as const) : ('active' as const)
}
