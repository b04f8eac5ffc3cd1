/** The money that the processes on one database count adds up to what they wrote to its ledger. */
import { expect, test } from 'vitest'
import { type Counts, LedgerCounts } from '#ledger/ledger-counts.ts'
import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import type { EntryTable } from '#ledger/store/tables.ts'
import { openSchemaStore } from '../postgres/postgres-store.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { account, capture, grant, hold, mustCommit, nowMs, refund, staked, topUp, unit } from './store/sample-ops.ts'

const sumOf = (all: readonly Counts[], amount: (counts: Counts) => bigint): bigint =>
  all.reduce((sum, counts) => sum + amount(counts), 0n)

const ofModels = (counts: Counts, name: 'charged' | 'writtenOff' | 'refunded' | 'staked' | 'stakeReturned'): bigint =>
  [...counts.models.values()].reduce((sum, model) => sum + model[name], 0n)

withPostgres('two processes on one database', cluster => {
  test('count each entry once, and in the sum all of them', async () => {
    const { store: real, schema, url, dispose } = await openSchemaStore(cluster())
    const second = await openPostgresStore({ url, schema })
    const counts = [new LedgerCounts({ hasStaking: true }), new LedgerCounts({ hasStaking: true })] as const
    const [one, two] = [counts[0].around(real), counts[1].around(second)]
    const day = staked(30n, Math.floor(nowMs / 86_400_000))
    await mustCommit(one, account(), grant(1_000n))
    await mustCommit(one, hold('h', 50n, 'ada', undefined, day), capture('h', [20n, 21n], 'r'))
    await mustCommit(two, hold('i', 50n), capture('i', [60n], 's', { writeOff: 13n }))
    await mustCommit(two, refund('r'))
    await mustCommit(one, refund('s'))
    // The other one sends it again, as after a job changed hands; and one whose first outcome was a refusal.
    const again = unit(topUp(7n, 'p'))
    expect([(await one.commit([again]))[0], (await two.commit([again]))[0]]).toMatchObject([
      { ok: true, again: false },
      { ok: true, again: true },
    ])
    expect(await two.commit([unit(topUp(7n, 'p'))])).toMatchObject([{ ok: false, why: 'ref_exists' }])

    const all = await Promise.all(counts.map(each => each.now()))
    const entries = await real.read.selectFrom('entry').selectAll().execute()
    const booked = (kind: EntryTable['kind'], sign = 0) =>
      entries
        .filter(row => row.kind === kind && (sign === 0 || row.effect > 0n === sign > 0))
        .reduce((sum, { amount }) => sum + amount, 0n)
    expect({
      charged: sumOf(all, each => ofModels(each, 'charged')),
      writtenOff: sumOf(all, each => ofModels(each, 'writtenOff')),
      refunded: sumOf(all, each => ofModels(each, 'refunded')),
      staked: sumOf(all, each => ofModels(each, 'staked')),
      stakeReturned: sumOf(all, each => ofModels(each, 'stakeReturned')),
      toppedUp: sumOf(all, each => each.toppedUp),
      granted: sumOf(all, each => each.granted),
    }).toEqual({
      charged: booked('CHARGE'),
      writtenOff: booked('WRITE_OFF'),
      refunded: booked('REFUND'),
      staked: booked('STAKING', 1),
      stakeReturned: booked('STAKING', -1),
      toppedUp: booked('TOP_UP'),
      granted: booked('GRANT'),
    })
    expect([booked('CHARGE'), booked('WRITE_OFF'), booked('REFUND'), booked('STAKING', 1)]).toEqual([
      101n,
      13n,
      88n,
      30n,
    ])
    await second.close()
    await dispose()
  })
})
