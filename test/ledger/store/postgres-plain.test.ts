/** Units that the batch function judges and writes together, and what it counts on. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { account, capture, commitOps, grant, hold, lease, mustCommit, release, unit } from './sample-ops.ts'
import type { OpenedStore } from './store-contract.ts'

withPostgres('plain units on PostgreSQL', cluster => {
  let opened: OpenedStore
  beforeEach(async () => {
    opened = await openSchemaStore(cluster())
    await mustCommit(opened.store, account(), grant(100n))
  })
  afterEach(() => opened.dispose())

  test.each(['NULL', 'null', '', '"', '\\', 'a,b', '{a}', 'a\\"b', " '; --", 'a\tb\nc', 'Grüße 🚌'])(
    'a hold may be called %j',
    async name => {
      const { store } = opened
      await mustCommit(store, hold(name, 4n))
      await mustCommit(store, capture(name, [3n, 1n], `request of ${name}`))
      const rows = await store.read.selectFrom('entry').select(['request', 'posted_after']).orderBy('seq').execute()
      const request = `request of ${name}`
      expect(rows.slice(1)).toEqual([
        { request, posted_after: 97n },
        { request, posted_after: 96n },
      ])
    },
  )

  test('of many holds at once each finds what those before it left, whatever is between them', async () => {
    const { store } = opened
    const outcomes = await store.commit([
      unit(hold('one', 60n)),
      unit(hold('too much', 41n)),
      unit(hold('two', 40n)),
      unit(grant(5n, 'more')),
      unit(hold('three', 5n)),
      unit(capture('one', [50n], 'r'), hold('four', 10n)),
      unit(hold('five', 1n)),
    ])
    expect(outcomes.map(outcome => (outcome.ok ? outcome.balances[0]?.held : outcome.why))).toEqual([
      ...[60n, 'insufficient_funds', 100n, 100n, 105n, 55n, 'insufficient_funds'],
    ])
  })

  test('of many holds at once each counts those that were opened and ended before it', async () => {
    const { store } = opened
    const slots = { mostOpen: 2 }
    await mustCommit(store, hold('first', 1n))
    const outcomes = await store.commit([
      unit(hold('second', 1n, 'ada', lease(), slots)),
      unit(hold('third', 1n, 'ada', lease(), slots)),
      unit(release('first')),
      unit(hold('fourth', 1n, 'ada', lease(), slots)),
      unit(hold('fifth', 1n, 'ada', lease(), slots)),
    ])
    expect(outcomes.map(outcome => outcome.ok || outcome.why)).toEqual([
      ...[true, 'too_many_open', true, true, 'too_many_open'],
    ])
  })

  test.each([
    ['deleted', 'DELETE FROM account'],
    ['renamed', "UPDATE account SET id = id || ' elsewhere'"],
    ['emptied', 'TRUNCATE account CASCADE'],
  ])('an account is never %s, even behind the store, because entries and holds count on it', async (_what, sql) => {
    await commitOps(opened.store, account('idle'))
    await expect(async () => opened.tamper(sql)).rejects.toThrow(/never|append-only/)
  })
})
