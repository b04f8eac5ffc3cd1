/** Acknowledged units survive the loss of a process, a connection or the database. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { audit } from '#ledger/audit/audit.ts'
import { postgresAuditReader } from '#ledger/audit/audit-reader.ts'
import { WriterLink } from '#ledger/store/postgres/connection.ts'
import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import { PostgresWriter } from '#ledger/store/postgres/writer.ts'
import type { FoldingStore, Store } from '#ledger/store/store.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import type { Cluster } from '../../postgres/cluster.ts'
import { CuttingProxy } from '../../postgres/cutting-proxy.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { account, capture, commitOps, commitUnit, grant, hold, mustCommit, nonce, nowMs, unit } from './sample-ops.ts'

const timeout = 120_000

/** A database of its own, so that children find their tables where a service would. */
async function newDatabase(cluster: Cluster, name: string): Promise<string> {
  await cluster.asSuperuser(`CREATE DATABASE ${name} OWNER farebox`, 'postgres')
  return cluster.urlOf('farebox', name)
}

function start(file: string, url: string) {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const env = { ...process.env, DATABASE_URL: url }
  const child = spawn(process.execPath, [path], { stdio: ['pipe', 'pipe', 'inherit'], env })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](), ended: once(child, 'close') }
}

async function ledgerIsIntact(url: string, schema?: string): Promise<void> {
  const reader = await postgresAuditReader(url, schema)
  const report = await audit(reader, { clock: { now: () => nowMs } })
  await reader.close()
  expect(report).toMatchObject({ ok: true, driftMicroUsd: 0n })
}

/** Each unit that was acknowledged is known when it comes again; `nonce` would be refused or applied anew otherwise. */
async function allAreThere(store: Store, ids: readonly string[]): Promise<void> {
  const outcomes = await store.commit(ids.map(id => ({ id, ops: [nonce('never')] })))
  expect(outcomes.filter(outcome => !outcome.ok || !outcome.again)).toEqual([])
}

/** Callers that hold and capture until they are stopped; answers the ids of what was acknowledged. */
function callersOn(store: Store, callers: number) {
  const acknowledged: string[] = []
  let stopped = false
  const commit = async (...ops: Parameters<typeof unit>) => {
    const one = unit(...ops)
    expect(await commitUnit(store, one)).toMatchObject({ ok: true })
    acknowledged.push(one.id)
  }
  const running = Array.from({ length: callers }, async () => {
    while (!stopped) {
      const id = uuidV7(nowMs)
      await commit(hold(id, 9n))
      await commit(capture(id, [4n, 1n]))
    }
  })
  return {
    acknowledged,
    async stop() {
      stopped = true
      await Promise.all(running)
    },
  }
}

async function whenMore(of: readonly unknown[], more: number): Promise<void> {
  const wanted = of.length + more
  while (of.length < wanted) await sleep(5)
}

withPostgres('faults of PostgreSQL and of those who use it', cluster => {
  describe('two processes', () => {
    test('1,000 holds from two processes against credit for 100: exactly 100', { timeout }, async () => {
      const url = await newDatabase(cluster(), 'two_holders')
      const store = await openPostgresStore({ url })
      await mustCommit(store, account(), grant(700n))
      const children = [1, 2].map(() => start('./postgres-holding-child.ts', url))
      for (const { lines } of children) expect((await lines.next()).value).toBe('ready')
      for (const { child } of children) child.stdin.write('go\n')
      const accepted = await Promise.all(children.map(async ({ lines }) => Number((await lines.next()).value)))
      expect(accepted.reduce((sum, one) => sum + one)).toBe(100)
      const balance = await store.read.selectFrom('account').select(['posted', 'held']).executeTakeFirst()
      expect(balance).toEqual({ posted: 700n, held: 700n })
      await ledgerIsIntact(url)
      await store.close()
    })

    test('processes that start together on an empty database make its tables once', { timeout }, async () => {
      const schema = cluster().newSchema()
      const { url } = cluster()
      const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgresStore({ url, schema })))
      const outcomes = await Promise.all(stores.map(store => commitOps(store, account(), grant(5n, 'once'))))
      expect(outcomes.filter(outcome => outcome.ok)).toHaveLength(1)
      expect(outcomes.filter(outcome => !outcome.ok && outcome.why === 'ref_exists')).toHaveLength(3)
      for (const store of stores) await store.close()
    })

    test('a unit that two processes send at once is applied once', { timeout }, async () => {
      const schema = cluster().newSchema()
      const { url } = cluster()
      const stores = await Promise.all([1, 2].map(() => openPostgresStore({ url, schema })))
      const [first] = stores as [FoldingStore]
      await mustCommit(first, account(), grant(1_000n))
      for (let round = 0; round < 40; round++) {
        const twin = unit(hold(`h${round}`, 3n), nonce(`n${round}`))
        const outcomes = await Promise.all(stores.map(store => commitUnit(store, twin)))
        expect(outcomes.map(outcome => outcome.ok && outcome.again).sort()).toEqual([false, true])
      }
      expect(await first.read.selectFrom('account').select('held').execute()).toEqual([{ held: 120n }])
      for (const store of stores) await store.close()
    })
  })

  test('kill -9 of the service loses nothing that was acknowledged', { timeout }, async () => {
    const url = await newDatabase(cluster(), 'killed_client')
    const acknowledged: string[] = []
    for (const wanted of [1, 20, 150, 400]) {
      const { child, lines, ended } = start('./committing-child.ts', url)
      for (let count = 1; ; count++) {
        const { value, done } = await lines.next()
        if (done) break
        // A line that the kill cut short names no unit.
        if (value.endsWith('.')) acknowledged.push(value.slice(0, -1))
        if (count === wanted) child.kill('SIGKILL')
      }
      await ended
      const store = await openPostgresStore({ url })
      await allAreThere(store, acknowledged)
      await store.close()
      await ledgerIsIntact(url)
    }
    expect(acknowledged.length).toBeGreaterThan(500)
  })

  test('connections that the database ends are replaced: no caller notices, nothing is doubled', {
    timeout,
  }, async () => {
    const schema = cluster().newSchema()
    const { url } = cluster()
    const store = await openPostgresStore({ url, schema })
    await mustCommit(store, account(), grant(10n ** 9n))
    const callers = callersOn(store, 16)
    for (let kill = 0; kill < 20; kill++) {
      await whenMore(callers.acknowledged, 20)
      await cluster().asSuperuser(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'farebox%'",
      )
      expect(await store.read.selectFrom('account').select('id').execute()).toEqual([{ id: 'ada' }])
    }
    await callers.stop()
    await allAreThere(store, callers.acknowledged)
    const charges = await store.read.selectFrom('entry').select('id').where('kind', '=', 'CHARGE').execute()
    expect(charges).toHaveLength(callers.acknowledged.length)
    await store.close()
    await ledgerIsIntact(url, schema)
  })

  test('the database may be killed and come back: commits wait for it, nothing is lost or doubled', {
    timeout,
  }, async () => {
    const schema = cluster().newSchema()
    const { url } = cluster()
    const store = await openPostgresStore({ url, schema })
    await mustCommit(store, account(), grant(10n ** 9n))
    const callers = callersOn(store, 16)
    for (let kill = 0; kill < 3; kill++) {
      await whenMore(callers.acknowledged, 100)
      await cluster().kill()
      await cluster().run()
    }
    await whenMore(callers.acknowledged, 20)
    await callers.stop()
    await allAreThere(store, callers.acknowledged)
    const charges = await store.read.selectFrom('entry').select('id').where('kind', '=', 'CHARGE').execute()
    expect(charges).toHaveLength(callers.acknowledged.length)
    await store.close()
    await ledgerIsIntact(url, schema)
  })

  test('an answer that is lost after its commit is asked for again', { timeout }, async () => {
    const schema = cluster().newSchema()
    await (await openPostgresStore({ url: cluster().url, schema })).close()
    const proxy = await CuttingProxy.to(cluster().port)
    const store = await openPostgresStore({ url: cluster().urlOf('farebox', 'farebox', proxy.port), schema })
    await mustCommit(store, account(), grant(1_000n))
    for (let cut = 1; cut <= 20; cut++) {
      proxy.cutNextAnswer()
      expect(await commitOps(store, hold(`h${cut}`, 2n))).toEqual({
        ok: true,
        again: true,
        balances: [{ account: 'ada', posted: 1_000n, held: BigInt(cut) * 2n }],
      })
      expect(proxy.cuts).toBe(cut)
    }
    await store.close()
    await proxy.close()
    await ledgerIsIntact(cluster().url, schema)
  })

  test.each([
    ['a lock delays', (schema: string) => `BEGIN; SELECT FROM ${schema}.account FOR UPDATE`, () => 'COMMIT'],
    [
      'a full disk prevents',
      (schema: string) => `SET search_path = ${schema}; DO $do$ DECLARE whole text; BEGIN
        SELECT pg_get_functiondef('commit_batch'::regproc) INTO whole;
        PERFORM set_config('farebox.whole', whole, false);
        EXECUTE regexp_replace(whole, 'AS [$]function[$].*',
          'AS $function$ BEGIN RAISE ''full'' USING ERRCODE = ''53100''; END $function$'); END $do$`,
      () => "DO $do$ BEGIN EXECUTE current_setting('farebox.whole'); END $do$",
    ],
  ])(
    'a unit whose answer is lost does not count as failed while %s its repetition',
    {
      timeout,
    },
    async (_what, begin, end) => {
      const schema = cluster().newSchema()
      await (await openPostgresStore({ url: cluster().url, schema })).close()
      const proxy = await CuttingProxy.to(cluster().port)
      const url = `${cluster().urlOf('farebox', 'farebox', proxy.port)}?options=-c%20lock_timeout%3D20`
      const store = await openPostgresStore({ url, schema })
      await mustCommit(store, account(), grant(10n))
      const other = new pg.Client({ connectionString: cluster().url })
      await other.connect()
      proxy.beforeCut = () => other.query(begin(schema))
      proxy.cutNextAnswer()
      const outcome = commitOps(store, hold('h', 4n))
      await expect.poll(() => proxy.cuts).toBe(1)
      // Longer than all attempts at a unit that meets only this.
      await sleep(500)
      await other.query(end())
      expect(await outcome).toMatchObject({ ok: true, again: true })
      await other.end()
      await store.close()
      await proxy.close()
    },
  )

  test('a lock that makes all calls wait is reported', { timeout }, async () => {
    const schema = cluster().newSchema()
    const told: unknown[] = []
    const url = `${cluster().url}?options=-c%20lock_timeout%3D1100`
    const store = await openPostgresStore({ url, schema, onTrouble: (error, forMs) => told.push(error, forMs) })
    await mustCommit(store, account(), grant(10n))
    const locker = new pg.Client({ connectionString: cluster().url })
    await locker.connect()
    await locker.query(`BEGIN; SELECT FROM ${schema}.account FOR UPDATE`)
    const outcome = commitOps(store, hold('h', 4n))
    await expect.poll(() => told.length, { timeout: 10_000 }).toBeGreaterThan(0)
    expect(told.slice(0, 2)).toEqual([expect.objectContaining({ code: '55P03' }), expect.any(Number)])
    await locker.end()
    expect(await outcome).toMatchObject({ ok: true })
    await store.close()
  })

  test('a unit for a connection that broke while idle is known not to be written', { timeout }, async () => {
    const schema = cluster().newSchema()
    await (await openPostgresStore({ url: cluster().url, schema })).close()
    const proxy = await CuttingProxy.to(cluster().port)
    const url = cluster().urlOf('farebox', 'farebox', proxy.port)
    const writer = new PostgresWriter(await WriterLink.open({ url, schema }, { most: 3 }))
    await writer.commit([unit(account())])
    await proxy.close()
    await sleep(50)
    await expect(writer.commit([unit(nonce('n'))])).rejects.toMatchObject({ kind: 'unreachable' })
    await writer.close()
  })

  test('reads give connections back where none is left for writing', { timeout }, async () => {
    const schema = cluster().newSchema()
    const store = await openPostgresStore({ url: cluster().url, schema })
    await mustCommit(store, account(), grant(10n))
    let isOver = false
    const reading = Array.from({ length: 12 }, async () => {
      while (!isOver) await sql`SELECT pg_sleep(0.01)`.execute(store.read)
    })
    const sessions = "pg_stat_activity WHERE application_name LIKE 'farebox%'"
    await expect.poll(() => cluster().asSuperuser(`SELECT pid FROM ${sessions}`)).toHaveLength(7)
    await cluster().asSuperuser('ALTER ROLE farebox CONNECTION LIMIT 6')
    await cluster().asSuperuser(`SELECT pg_terminate_backend(pid) FROM ${sessions} AND application_name = 'farebox'`)
    await mustCommit(store, hold('h', 4n))
    await cluster().asSuperuser('ALTER ROLE farebox CONNECTION LIMIT -1')
    isOver = true
    await Promise.all(reading)
    await store.close()
  })

  test('what stays unknown is said to be unknown, and its id tells later', { timeout }, async () => {
    const schema = cluster().newSchema()
    const { url } = cluster()
    const store = await openPostgresStore({ url, schema })
    await mustCommit(store, account(), grant(10n))
    const proxy = await CuttingProxy.to(cluster().port)
    const link = await WriterLink.open({ url: cluster().urlOf('farebox', 'farebox', proxy.port), schema }, { most: 3 })
    const writer = new PostgresWriter(link)
    const lost = unit(hold('h', 4n))
    proxy.closesWithCut = true
    proxy.cutNextAnswer()
    const unknown = writer.commit([lost])
    const behind = new Promise(resolve => setImmediate(resolve)).then(() => writer.commit([unit(hold('j', 4n))]))
    await expect(Promise.all([unknown, behind])).rejects.toMatchObject({ name: 'StoreError', kind: 'outcome_unknown' })
    // Who waited behind it is not kept waiting for a database that is away.
    await expect(behind).rejects.toMatchObject({ kind: 'unreachable' })
    // This one never reached the database, and that is known.
    await expect(writer.commit([unit(hold('i', 4n))])).rejects.toMatchObject({ kind: 'unreachable' })
    expect(await commitUnit(store, lost)).toMatchObject({ ok: true, again: true })
    await writer.close()
    await store.close()
  })
})
