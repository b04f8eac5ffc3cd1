/** Processes that share a database judge each other's leases by their own clocks, so these have to agree. */
import { expect, test } from 'vitest'
import { recoverHolds } from '#ledger/charges/recover-holds.ts'
import { ClockWatch, watchedStore } from '#ledger/ledger-watch.ts'
import { clockDifference, openPostgresStore } from '#ledger/store/postgres/open.ts'
import type { Op } from '#ledger/store/units.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { account, grant, hold, mustCommit } from './sample-ops.ts'

test.each([
  ['the answer lies in between', [1_000, 9_000], 4_000, 0],
  ['the clock is behind', [1_000, 1_010], 7_010, 6_000],
  ['the clock is ahead', [7_000, 7_010], 1_000, 6_000],
])('where %s the least difference counts', async (_what, readings, database, difference) => {
  const left = [...readings]
  expect(await clockDifference({ now: () => left.shift() ?? 0 }, async () => database)).toBe(difference)
})

withPostgres('clocks of PostgreSQL and of those who use it', cluster => {
  const offBy = (skewMs: number) => ({ now: () => Date.now() + skewMs })

  test.each([31_000, -31_000, 9_000, -9_000])('a clock that is off by %d ms is refused in a sentence', async skewMs => {
    const { schema, url, dispose } = await openSchemaStore(cluster())
    await expect(openPostgresStore({ url, schema, clock: offBy(skewMs) })).rejects.toMatchObject({
      kind: 'unusable_database',
      message: expect.stringMatching(
        /clock and this machine’s differ by [\d.]+ s, more than the allowed 5 s; .*time server/,
      ),
    })
    await dispose()
  })

  test.each([4_000, -4_000])('one that is off by %d ms is not', async skewMs => {
    const { schema, url, dispose } = await openSchemaStore(cluster())
    await (await openPostgresStore({ url, schema, clock: offBy(skewMs) })).close()
    await dispose()
  })

  test('a clock that becomes wrong later ends no live hold and is logged once; when it is right again, work resumes', async () => {
    const { store, schema, url, dispose } = await openSchemaStore(cluster())
    const atMs = Date.now()
    let skewMs = 0
    const clock = { now: () => Date.now() + skewMs }
    const sibling = watchedStore(await openPostgresStore({ url, schema, clock }), reason => expect(reason).toBeNull())
    const leased = (id: string, untilMs: number): Op => {
      const op = hold(id, 1n)
      return op.op === 'hold' ? { ...op, lease: { owner: 'another process', untilMs } } : op
    }
    await mustCommit(store, account(), grant(9n), leased('live', atMs + 30_000), leased('dead', atMs - 1))
    const told: string[] = []
    const log = { info: () => told.push('info'), warn: () => told.push('warn'), error: () => told.push('error') }
    const watch = new ClockWatch({ store: sibling, log })
    const look = async () => {
      await watch.look()
      const ended = await recoverHolds(sibling, clock)
      const open = await store.read.selectFrom('hold').select('id').orderBy('id').execute()
      return [ended, open.map(({ id }) => id).join()]
    }
    skewMs = 31_000
    expect([await look(), await look(), told.join()]).toEqual([[0, 'dead,live'], [0, 'dead,live'], 'error'])
    skewMs = 0
    expect([await look(), told.join()]).toEqual([[1, 'live'], 'error,info'])
    await sibling.close()
    await dispose()
  })
})
