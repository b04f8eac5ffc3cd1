/** The tables of the state file: made once, in order, completely or not at all, and never changed by another release. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { walletMigrations } from '#wallet/records/schema.ts'
import { type Migration, openState, stateFileName } from '#wallet/records/state.ts'
import { temporaryFolder } from './sample-wallet.ts'

const first: Migration = { name: '0001-first', sql: 'CREATE TABLE a (n INTEGER) STRICT; INSERT INTO a VALUES (1);' }
const second: Migration = { name: '0002-second', sql: 'ALTER TABLE a ADD COLUMN m INTEGER; UPDATE a SET m = n + 1;' }

function opened(folder = temporaryFolder()) {
  const state = openState(folder)
  onTestFinished(() => state.close())
  const rows = (sql: string) =>
    state
      .database()
      .prepare(sql)
      .all()
      .map(row => ({ ...row }))
  return { folder, state, rows }
}

test('they are made in order, and none twice', () => {
  const { folder, state, rows } = opened()
  state.prepare('x', [first, second])
  state.prepare('x', [first, second])
  const other = opened(folder)
  other.state.prepare('x', [first, second])
  expect(other.rows('SELECT * FROM a')).toEqual([{ n: 1, m: 2 }])
  expect(rows('SELECT * FROM migrations')).toEqual([first, second].map(({ name }) => ({ area: 'x', name })))
})

test('a later release adds to the tables, and keeps their rows', () => {
  const before = opened()
  before.state.prepare('x', [first])
  before.state.database().exec('INSERT INTO a VALUES (5)')
  const { state, rows } = opened(before.folder)
  state.prepare('x', [first, second])
  expect(rows('SELECT n, m FROM a')).toEqual([
    { n: 1, m: 2 },
    { n: 5, m: 6 },
  ])
})

test('areas have names of their own', () => {
  const { state, rows } = opened()
  state.prepare('x', [first])
  state.prepare('y', [{ ...first, sql: 'CREATE TABLE b (n INTEGER) STRICT' }])
  expect(rows('SELECT area FROM migrations')).toEqual([{ area: 'x' }, { area: 'y' }])
})

test('if one fails, none has been made', () => {
  const { state, rows } = opened()
  expect(() => state.prepare('x', [first, { name: '0002-wrong', sql: 'DROP TABLE a; DROP TABLE b' }])).toThrow(/b/)
  expect(rows('SELECT name FROM sqlite_master')).toEqual([])
  state.prepare('x', [first, second])
  expect(rows('SELECT * FROM a')).toEqual([{ n: 1, m: 2 }])
})

const ofOthers: [what: string, done: readonly Migration[], known: readonly Migration[]][] = [
  ['a later release', [first, second], [first]],
  ['a release with other tables', [{ ...first, name: '0001-other' }], [first, second]],
  ['a release that left one out', [second], [first, second]],
]

test.each(ofOthers)('a file of %s is refused, and nothing in it changes', (_, done, known) => {
  const { folder, state, rows } = opened()
  const everything = 'SELECT sql FROM sqlite_master UNION ALL SELECT name FROM migrations'
  state.prepare('x', [{ ...first, name: '0000-base' }])
  state.database().exec('DELETE FROM migrations')
  for (const { name } of done) state.database().exec(`INSERT INTO migrations VALUES ('x', '${name}')`)
  const before = rows(everything)
  const later = opened(folder)
  for (const _time of ['once', 'again']) {
    expect(() => later.state.prepare('x', known)).toThrow(
      expect.objectContaining({
        rule: 'state',
        sentence: `The wallet's records in ${join(folder, stateFileName)} cannot be used: another release of farebox wrote them. Nothing is signed without them.`,
        nextStep: 'Use that release, or set FAREBOX_DATA to another folder.',
      }),
    )
  }
  expect(later.rows(everything)).toEqual(before)
})

test.each(['x', 'y'])('if another release wrote %s, nothing else in its file can be used', area => {
  const { folder, state } = opened()
  state.prepare(area, [{ ...first, name: '0001-other' }])
  const areas = { x: [first], y: [{ ...first, sql: 'CREATE TABLE b (n INTEGER) STRICT' }] }
  const later = openState(folder, areas)
  onTestFinished(() => later.close())
  for (const each of ['x', 'y'] as const)
    expect(() => later.prepare(each, areas[each])).toThrow(
      expect.objectContaining({ sentence: expect.stringContaining('another release of farebox wrote them') }),
    )
})

test('a step needs its payment, and a payment one of the known occasions', () => {
  const { state } = opened()
  state.prepare('wallet', walletMigrations)
  const database = state.database()
  database.exec(`INSERT INTO payments (id, state, counts, occasion, purpose, address, origin, network, asset, pay_to,
    amount_micro_usd, created_at_ms, updated_at_ms)
    VALUES ('pay_a', 'planned', 1, 'asked', 'x', 'me', 'https://s.example', 'n', 'a', 'p', 5000000, 7, 7)`)
  const step = (id: string) =>
    database.exec(`INSERT INTO payment_steps (payment_id, at_ms, state) VALUES ('${id}', 1, 'sent')`)
  step('pay_a')
  expect(() => step('pay_b')).toThrow(/FOREIGN KEY/)
  expect(() => database.exec(`UPDATE payments SET occasion = 'whim'`)).toThrow(/CHECK/)
})
