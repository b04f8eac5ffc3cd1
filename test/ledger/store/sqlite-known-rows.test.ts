/** The writer does not use its cached rows once anything else has changed them. */
import type { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { knownRowsMost } from '#ledger/bounds.ts'
import { batchCommitter } from '#ledger/store/sqlite/batch.ts'
import { openForWriting } from '#ledger/store/sqlite/connection.ts'
import { migrateSqlite } from '#ledger/store/sqlite/open.ts'
import { Known } from '#ledger/store/sqlite/work.ts'
import type { Op } from '#ledger/store/units.ts'
import { account, budget, grant, hold, key, keyBudget, nonce, release, revokeKey, unit } from './sample-ops.ts'
import { tamperWith, temporaryFolder } from './sqlite-folder.ts'

let place: ReturnType<typeof temporaryFolder>
let database: DatabaseSync
let commit: ReturnType<typeof batchCommitter>
beforeEach(async () => {
  place = temporaryFolder()
  database = openForWriting(place.path)
  await migrateSqlite(database, place.path)
  commit = batchCommitter(database)
})
afterEach(() => {
  database.close()
  place.remove()
})

const applied = (...ops: Op[]) => commit([unit(...ops)])[0]
const balances = (posted: bigint, held: bigint) => ({ ok: true, balances: [{ account: 'ada', posted, held }] })

test('a balance that another connection changed is read anew', () => {
  applied(account(), grant(100n))
  tamperWith(place.path, 'UPDATE account SET posted = 7')
  expect(applied(hold('h1', 8n))).toMatchObject({ why: 'insufficient_funds' })
  expect(applied(hold('h2', 7n))).toMatchObject(balances(7n, 7n))
})

test('a hold that another connection deleted is gone', () => {
  applied(account(), grant(100n))
  applied(hold('h1', 8n))
  tamperWith(place.path, 'DELETE FROM hold')
  expect(applied(release('h1'))).toMatchObject({ why: 'no_hold' })
})

test('a unit of several operations that is refused leaves nothing in memory either', () => {
  applied(account(), grant(100n), nonce('used'))
  expect(applied(hold('h1', 60n), nonce('used'))).toMatchObject({ why: 'nonce_used' })
  expect(applied(release('h1'))).toMatchObject({ why: 'no_hold' })
  expect(applied(hold('h2', 60n))).toMatchObject(balances(100n, 60n))
  expect(applied(release('h2'), nonce('used'))).toMatchObject({ why: 'nonce_used' })
  expect(applied(hold('h3', 60n))).toMatchObject({ why: 'insufficient_funds' })
  expect(applied(release('h2'))).toMatchObject(balances(100n, 0n))
})

test('a batch that is undone and repeated unit by unit leaves nothing in memory either', () => {
  applied(account(), grant(100n))
  tamperWith(place.path, `CREATE TRIGGER broken BEFORE INSERT ON nonce BEGIN SELECT RAISE(ROLLBACK, 'broken'); END`)
  const results = commit([unit(hold('h1', 60n)), unit(nonce('n')), unit(hold('h2', 40n))])
  expect(results).toMatchObject([balances(100n, 60n), { failed: 'broken' }, balances(100n, 100n)])
  expect(applied(hold('h3', 1n))).toMatchObject({ why: 'insufficient_funds' })
})

test('a key that is revoked is refused at once', () => {
  applied(account(), grant(100n), key('k1'))
  const calling = { key: { key: 'k1', epochStartMs: 0, monthStartMs: 0 } }
  expect(applied(hold('h1', 1n, 'ada', undefined, calling))).toMatchObject({ ok: true })
  expect(applied(revokeKey('k1'))).toMatchObject({ ok: true })
  expect(applied(hold('h2', 1n, 'ada', undefined, calling))).toMatchObject({ why: 'no_key' })
})

test('a budget that is set counts at once', () => {
  applied(account(), grant(100n), key('k1'))
  const calling = { key: { key: 'k1', epochStartMs: 0, monthStartMs: 0 } }
  expect(applied(hold('h1', 8n, 'ada', undefined, calling))).toMatchObject({ ok: true })
  expect(applied(keyBudget('k1', budget(7n)))).toMatchObject({ ok: true })
  expect(applied(hold('h2', 8n, 'ada', undefined, calling))).toMatchObject({ why: 'over_budget' })
})

test('no more rows are kept than its bound allows', () => {
  const known = new Known<number>()
  for (let id = 0; id < knownRowsMost; id++) known.set(`${id}`, id)
  expect(known.get('0')).toBe(0)
  known.set('0', 1)
  expect([known.get('0'), known.get('1')]).toEqual([1, 1])
  known.set('one more', 2)
  expect([known.get('1'), known.get('one more')]).toEqual([undefined, 2])
})
