/** A start ends what dead processes held in sets, and leaves the ledger as if it had ended each hold by a unit of its own. */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { recoverHoldsAtStart } from '#ledger/charges/recover-holds.ts'
import { openForWriting } from '#ledger/store/sqlite/connection.ts'
import { deadHoldsEnder } from '#ledger/store/sqlite/end-dead-holds.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import {
  account,
  budget,
  by,
  capture,
  checkpoint,
  grant,
  type HoldTerms,
  hold,
  key,
  lease,
  linesOf,
  mustCommit,
  nowMs,
  staked,
} from './sample-ops.ts'
import { temporaryFolder } from './sqlite-folder.ts'

let place: ReturnType<typeof temporaryFolder>
beforeEach(() => {
  place = temporaryFolder()
})
afterEach(() => place.remove())

const clock = { now: () => nowMs + 1 }
const live = lease(nowMs + 3_600_000, 'a dead process')

interface Rule {
  rule: string
  ops: Op[]
  /** How many holds the sets end; the others are ended by units. */
  inSets: number
}

const dead = (id: string, amount: bigint, of = 'ada', terms: HoldTerms = {}) => hold(id, amount, of, live, terms)
/** What a hold owes for a request that is named apart. */
const owes = (id: string, request: string, amounts: bigint[]): Op => {
  const owed = { request, model: null, lines: linesOf(amounts) }
  return { op: 'renew', hold: id, lease: live, owed }
}

const rules: Rule[] = [
  { rule: 'nothing written down: freed', ops: [dead('a1', 90n)], inSets: 1 },
  { rule: 'a checkpoint: charged', ops: [dead('a2', 90n), checkpoint('a2', [7n], live)], inSets: 1 },
  { rule: 'several lines', ops: [dead('a3', 90n), checkpoint('a3', [7n, 0n, 30n], live)], inSets: 1 },
  { rule: 'a checkpoint that costs nothing', ops: [dead('a4', 90n), checkpoint('a4', [0n], live)], inSets: 1 },
  { rule: 'as much as is held', ops: [dead('a5', 90n), checkpoint('a5', [90n], live)], inSets: 1 },
  { rule: 'beyond the hold: written off', ops: [dead('a6', 90n), checkpoint('a6', [91n], live)], inSets: 0 },
  {
    rule: 'another account in between',
    ops: [dead('a7', 9n, 'bob'), checkpoint('a7', [4n, 5n], live), dead('a8', 8n), checkpoint('a8', [8n], live)],
    inSets: 2,
  },
  {
    rule: 'a key with a budget',
    ops: [
      dead('b1', 50n, 'ada', by('limited')),
      dead('b2', 50n, 'ada', by('limited')),
      checkpoint('b2', [20n, 3n], live),
    ],
    inSets: 2,
  },
  {
    rule: 'staking credit, freed',
    ops: [dead('c1', 60n, 'ada', staked(40n)), dead('c2', 60n, 'ada', { ...by('limited'), ...staked(40n) })],
    inSets: 2,
  },
  {
    rule: 'staking credit, charged',
    ops: [dead('c3', 30n, 'bob', staked(20n)), checkpoint('c3', [25n], live)],
    inSets: 0,
  },
  {
    rule: 'a day of staking that has none left',
    ops: [dead('c4', 30n, 'ada', staked(40n)), checkpoint('c4', [25n], live)],
    inSets: 1,
  },
  {
    rule: 'two holds of one request: one charge',
    ops: [dead('d1', 30n), owes('d1', 'twice', [11n]), dead('d2', 30n), owes('d2', 'twice', [12n])],
    inSets: 0,
  },
  {
    rule: 'a request that was charged before',
    ops: [hold('d3', 30n), capture('d3', [5n], 'charged'), dead('d4', 30n), owes('d4', 'charged', [6n])],
    inSets: 0,
  },
  {
    rule: 'the hold of the process itself stays',
    ops: [hold('e1', 30n, 'ada', { owner: 'me', untilMs: nowMs })],
    inSets: 0,
  },
]

async function writeRules(): Promise<void> {
  const store = await openSqliteStore({ path: place.path })
  await mustCommit(store, account(), account('bob'), grant(10_000n, 'g1'), grant(10_000n, 'g2', 'bob'))
  await mustCommit(store, key('limited', 'hash', 'ada', budget(1_000n, 1_000n)))
  for (const { ops } of rules) for (const op of ops) await mustCommit(store, op)
  await store.close()
}

/** A copy of the ledger as a kill has left it. */
function copyOf(name: string): string {
  mkdirSync(join(place.folder, name))
  const path = join(place.folder, name, 'farebox.db')
  for (const end of ['', '-wal']) if (existsSync(place.path + end)) copyFileSync(place.path + end, path + end)
  return path
}

/** All that is left of money; not what names the unit or the order, in which both ways are free. */
function moneyIn(path: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true })
  const all = (sql: string) => database.prepare(sql).all()
  const money = {
    account: all('SELECT * FROM account ORDER BY id'),
    hold: all('SELECT * FROM hold ORDER BY id'),
    ended: all('SELECT * FROM ended_hold ORDER BY id'),
    keyUse: all('SELECT * FROM key_use'),
    staking: all('SELECT * FROM staking_credit ORDER BY account'),
    // Of two holds of one request either may be the one that is charged.
    entries: all(`SELECT kind, account, debit, credit, amount, ref, line, request, model, sku, units,
      unit_price_pico_usd, api_key, budget_period, budget_start_ms, staking_day_ms, created_at_ms
      FROM entry ORDER BY ref, line`),
  }
  database.close()
  return money
}

async function recover(path: string, change: (store: Store) => Store = store => store): Promise<number> {
  const store = await openSqliteStore({ path })
  return recoverHoldsAtStart(change(store), clock, 'me').finally(() => store.close())
}

const byUnits = ({ endHoldsOfOthers: _, ...store }: Store): Store => store
const holdsOf = rules.flatMap(({ ops }) => ops.filter(({ op }) => op === 'hold')).length

test('sets leave what units leave, and the audit finds nothing', async () => {
  await writeRules()
  const [inSets, one] = [copyOf('sets'), copyOf('units')]
  // All but the one that was captured before and the one of the process itself.
  expect([await recover(inSets), await recover(one, byUnits)]).toEqual([holdsOf - 2, holdsOf - 2])
  expect(moneyIn(inSets)).toEqual(moneyIn(one))
  for (const path of [inSets, one]) expect(await audit(path, { clock })).toMatchObject({ findings: [], ok: true })
})

test.each([100, 2])('sets end what is plain, and only that, with at most %i holds in one', async together => {
  await writeRules()
  const database = openForWriting(place.path)
  deadHoldsEnder(database, together)('me', nowMs)
  const open = new Set(
    database
      .prepare('SELECT id FROM hold')
      .all()
      .map(({ id }) => id),
  )
  const found = rules.map(({ rule, ops }) => {
    const holds = ops.flatMap(op => (op.op === 'hold' && op.lease.owner === live.owner ? [op.hold] : []))
    return { rule, inSets: holds.filter(id => !open.has(id)).length }
  })
  expect(found).toEqual(rules.map(({ rule, inSets }) => ({ rule, inSets })))
  database.close()
})

test('balances that were known before are read again', async () => {
  await writeRules()
  const store = await openSqliteStore({ path: place.path })
  await mustCommit(store, grant(1n, 'g3'))
  expect(store.balances?.get('ada')).toBeDefined()
  await recoverHoldsAtStart(store, clock, 'me')
  const { posted, held } = await store.read
    .selectFrom('account')
    .selectAll()
    .where('id', '=', 'ada')
    .executeTakeFirstOrThrow()
  await mustCommit(store, hold('more', posted - held, 'ada', lease(nowMs, 'me')))
  expect(store.balances?.get('ada')).toEqual({ account: 'ada', posted, held: posted })
  await store.close()
})

test('a set that fails ends nothing, and units say why', async () => {
  await writeRules()
  const database = new DatabaseSync(place.path)
  database.exec(`CREATE TRIGGER broken BEFORE INSERT ON entry_row WHEN NEW.request = 'a5'
    BEGIN SELECT RAISE(ABORT, 'broken'); END`)
  database.close()
  await expect(recover(place.path)).rejects.toMatchObject({ kind: 'unit_failed' })
  const again = new DatabaseSync(place.path)
  expect(
    again.prepare(`SELECT count(*) AS n FROM entry_row WHERE own_id LIKE '%/recover.%' AND own_id LIKE 'a%'`).get(),
  ).toEqual({ n: 0 })
  again.exec('DROP TRIGGER broken')
  again.close()
  await recover(place.path)
  expect(await audit(place.path, { clock })).toMatchObject({ ok: true, counts: { openHolds: 1 } })
})

test('a kill between any two statements leaves whole sets, and the next start ends the others', async () => {
  await writeRules()
  const database = openForWriting(place.path)
  const images: string[] = []
  const prepare = database.prepare.bind(database)
  const imaged = (statement: StatementSync): StatementSync => {
    const run = statement.run.bind(statement)
    statement.run = (...values: never[]) => {
      images.push(copyOf(`killed-${images.length}`))
      return run(...values)
    }
    return statement
  }
  database.prepare = sql => imaged(prepare(sql))
  deadHoldsEnder(database, 9)('me', nowMs + 1)
  database.close()
  await recover(place.path)
  const whole = moneyIn(place.path)
  expect(images.length).toBeGreaterThan(25)
  for (const path of images) {
    expect(await audit(path, { clock })).toMatchObject({ ok: true })
    await recover(path)
    expect(moneyIn(path)).toEqual(whole)
    expect(await audit(path, { clock })).toMatchObject({ ok: true, counts: { openHolds: 1 } })
  }
})
