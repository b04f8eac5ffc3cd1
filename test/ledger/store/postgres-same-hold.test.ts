/**
 * Two processes that mean the same hold at once. Every unit locks the accounts of its holds before it reads them again,
 * each statement sees what was committed before it, and so whoever comes second finds what the first has left. A hold
 * that was not there yet when accounts were locked is read before its account is; then its row tells whether it moved.
 */
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { postgresAuditReader } from '#ledger/audit/audit-reader.ts'
import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import type { Outcome, Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import type { Cluster } from '../../postgres/cluster.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import {
  account,
  capture,
  commitOps,
  extend,
  grant,
  hold,
  lease,
  mustCommit,
  nonce,
  nowMs,
  release,
  renew,
} from './sample-ops.ts'

const timeout = 120_000
const rounds = 80

const told = (outcome: Outcome | undefined) => (outcome?.ok ? 'ok' : outcome?.why)

/** Resolves once this many statements of the server wait for a lock. */
const whenWaiting = (cluster: Cluster, many: number, forWhat = '') =>
  expect
    .poll(() => cluster.asSuperuser(`SELECT FROM pg_locks WHERE NOT granted ${forWhat}`), { timeout, interval: 5 })
    .toHaveLength(many)

const forRow = "AND locktype = 'transactionid'"

withPostgres('two processes that mean the same hold', cluster => {
  let one: Store
  let other: Store
  let url: string
  let schema: string
  let close: () => Promise<void>
  beforeEach(async () => {
    const opened = await openSchemaStore(cluster())
    ;({ store: one, url, schema } = opened)
    const second = await openPostgresStore({ url, schema })
    other = second
    close = async () => {
      await second.close()
      await opened.dispose()
    }
    await mustCommit(one, account(), grant(1_000_000n))
  }, timeout)
  afterEach(() => close())

  async function intactBalance() {
    const reader = await postgresAuditReader(url, schema)
    onTestFinished(() => reader.close())
    expect(await audit(reader, { clock: { now: () => nowMs } })).toMatchObject({ ok: true, driftMicroUsd: 0n })
    return one.read.selectFrom('account').select(['posted', 'held']).executeTakeFirst()
  }

  const races: [name: string, first: (id: string) => Op, second: (id: string) => Op, ends: string[][]][] = [
    [
      'capture and release',
      id => capture(id, [4n, 3n]),
      id => release(id),
      [
        ['ok', 'no_hold'],
        ['no_hold', 'ok'],
      ],
    ],
    [
      'capture and capture',
      id => capture(id, [4n, 3n], `${id} one`),
      id => capture(id, [4n, 3n], `${id} two`),
      [
        ['ok', 'no_hold'],
        ['no_hold', 'ok'],
      ],
    ],
    [
      'capture and extend',
      id => capture(id, [4n, 3n]),
      id => extend(id, 5n),
      [
        ['ok', 'no_hold'],
        ['ok', 'ok'],
      ],
    ],
  ]
  test.each(races)(`%s, ${rounds} times: one after the other`, { timeout }, async (_name, first, second, ends) => {
    let charged = 0n
    for (let round = 0; round < rounds; round++) {
      const id = `hold ${round}`
      await mustCommit(one, hold(id, 10n))
      const both = await Promise.all([commitOps(one, first(id)), commitOps(other, second(id))])
      expect(ends).toContainEqual(both.map(told))
      const lines = await one.read.selectFrom('entry').select('amount').where('ref', 'like', `charge:${id}%`).execute()
      charged += lines.reduce((sum, { amount }) => sum + amount, 0n)
      expect(lines).toHaveLength(
        both.some((outcome, at) => outcome.ok && [first, second][at]?.(id).op === 'capture') ? 2 : 0,
      )
    }
    expect(await intactBalance()).toEqual({ posted: 1_000_000n - charged, held: 0n })
  })

  describe('where it was not there yet when accounts were locked', () => {
    /** Makes every user of a nonce with this name wait: before it reads anything, and then before it commits. */
    async function gate(name: string) {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      onTestFinished(() => client.end())
      const lock = `hashtextextended('nonce:${name}', 0)`
      await client.query(`SET search_path = ${schema}; SELECT pg_advisory_lock(${lock})`)
      return {
        usedByAnother: () => client.query(`BEGIN; INSERT INTO nonce VALUES ('${name}', 0)`),
        begin: () => client.query(`SELECT pg_advisory_unlock(${lock})`),
        commit: () => client.query('ROLLBACK'),
      }
    }

    test.each([
      ['captured', capture('hold', [7n]), 1_000_000n - 7n],
      ['released', release('hold'), 1_000_000n],
    ])('what is extended and %s keeps nothing held', { timeout }, async (_how, end, posted) => {
      const ending = await gate('ending')
      const extending = await gate('extending')
      const ended = commitOps(one, end, nonce('ending'))
      await whenWaiting(cluster(), 1)
      await mustCommit(other, hold('hold', 10n))
      const extended = commitOps(other, extend('hold', 5n), nonce('extending'))
      await whenWaiting(cluster(), 2)
      await ending.begin()
      // It has read the hold, and waits for the account that the extension has locked.
      await whenWaiting(cluster(), 1, forRow)
      await extending.begin()
      expect([told(await extended), told(await ended)]).toEqual(['ok', 'ok'])
      expect(await intactBalance()).toEqual({ posted, held: 0n })
    })

    test('what is renewed is not ended as lapsed', { timeout }, async () => {
      const renewing = await gate('renewing')
      const renewed = commitOps(one, renew('hold', lease(nowMs + 60_000)), nonce('renewing'))
      await whenWaiting(cluster(), 1)
      await mustCommit(other, hold('hold', 10n, 'ada', lease(nowMs)))
      await renewing.usedByAnother()
      await renewing.begin()
      // It has renewed the lease, and waits with its commit.
      await whenWaiting(cluster(), 1, forRow)
      const ended = commitOps(other, release('hold', nowMs + 1))
      await whenWaiting(cluster(), 2, forRow)
      await renewing.commit()
      expect([told(await renewed), told(await ended)]).toEqual(['ok', 'lease_live'])
      expect(await intactBalance()).toEqual({ posted: 1_000_000n, held: 10n })
    })
  })
})
