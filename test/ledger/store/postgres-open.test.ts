import { sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { describe, expect, test } from 'vitest'
import { postgresAuditReader } from '#ledger/audit/audit-reader.ts'
import { namedFromTimes, queuedUnits } from '#ledger/bounds.ts'
import { databasePlace, openStore } from '#ledger/store/open-store.ts'
import { connectForWriting } from '#ledger/store/postgres/connection.ts'
import { migratePostgres, migrations } from '#ledger/store/postgres/migrate.ts'
import { openPostgresStore } from '#ledger/store/postgres/open.ts'
import { openingFailure } from '#ledger/store/postgres/opening-failure.ts'
import { pruneStore } from '#ledger/store/store.ts'
import { uuidV7Floor } from '#ledger/store/uuid-v7.ts'
import { freePort, query } from '../../postgres/cluster.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { account, commitOps, grant, hold, limit, mustCommit, nonce, nowMs, unit } from './sample-ops.ts'

describe('the name of a database', () => {
  test.each([
    ['a path', '/srv/farebox.db', { engine: 'sqlite', path: '/srv/farebox.db' }],
    ['a path with a colon', './a:b/farebox.db', { engine: 'sqlite', path: './a:b/farebox.db' }],
    ['a drive', 'C:\\farebox.db', { engine: 'sqlite', path: 'C:\\farebox.db' }],
    ['sqlite:', 'sqlite:data/farebox.db', { engine: 'sqlite', path: 'data/farebox.db' }],
    ['postgres:', 'postgres://ada@db/farebox', { engine: 'postgres', url: 'postgres://ada@db/farebox' }],
    ['postgresql:', 'postgresql://db/farebox', { engine: 'postgres', url: 'postgresql://db/farebox' }],
  ])('may be %s', (_what, name, place) => expect(databasePlace(name)).toEqual(place))

  test.each(['', 'sqlite:', 'mysql://ada:secret@db/x', 'postgres://ada:secret@:bad:port', 'https://secret.example'])(
    '%j is refused in a sentence that does not repeat it',
    async name => {
      const refused = openStore(name)
      await expect(refused).rejects.toMatchObject({ kind: 'unusable_database' })
      await expect(refused).rejects.not.toThrow(/secret/)
    },
  )
})

describe('a database that cannot be opened', () => {
  const url = 'postgres://ada:secret@db.example:5432/ledger'
  test.each<[string, object, string, string]>([
    ['whose authority is unknown', { code: 'SELF_SIGNED_CERT_IN_CHAIN' }, 'is not trusted here', 'sslrootcert=FILE'],
    ['whose certificate has expired', { code: 'CERT_HAS_EXPIRED' }, 'is not trusted here', 'sslrootcert=FILE'],
    ['with the certificate of another', { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, 'is for another host', 'host name'],
    ['that requires TLS', { code: '28000' }, 'refuses the role ada', '?sslmode=verify-full'],
    ['that is stopped', { code: 'ECONNREFUSED', syscall: 'connect' }, 'does not answer', 'Start it'],
    [
      'without its file',
      { code: 'ENOENT', syscall: 'open', path: 'ca.pem' },
      'The file `ca.pem`',
      'Correct `sslrootcert`',
    ],
  ])('%s is explained with the next step', (_what, error, fact, nextStep) => {
    const failure = openingFailure(Object.assign(new Error('secret'), error), url)
    expect(failure).toEqual({ fact: expect.stringContaining(fact), nextStep: expect.stringContaining(nextStep) })
    expect(JSON.stringify(failure)).not.toContain('secret')
  })

  test('a missing certificate file is not taken for a stopped server', async () => {
    const refused = openPostgresStore({ url: `${url}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem` })
    await expect(refused).rejects.toThrow(/^The file `\/nowhere\/ca\.pem` .*cannot be read \(ENOENT\)/)
  })
})

withPostgres('opening PostgreSQL', cluster => {
  test('a read that comes often is prepared, also while a newer release adds a column', async () => {
    const { store, tamper, dispose } = await openSchemaStore(cluster())
    await mustCommit(store, account('ada'))
    const readOnce = () => store.read.selectFrom('account').selectAll().where('id', '=', 'ada').execute()
    const prepared = async () =>
      (await sql<{ name: string }>`SELECT name FROM pg_prepared_statements`.execute(store.read)).rows.length
    await readOnce()
    expect(await prepared()).toBe(0)
    for (let times = 0; times < namedFromTimes; times++) await readOnce()
    expect(await prepared()).toBe(1)
    await tamper('ALTER TABLE account ADD COLUMN added bigint')
    expect(await readOnce()).toMatchObject([{ id: 'ada', added: null }])
    await tamper('ALTER TABLE account DROP COLUMN added')
    await dispose()
  })

  test('every connection is durable, and no plan reads a whole table', async () => {
    const client = await connectForWriting({ url: cluster().url, schema: 'farebox' })
    const setting = async (name: string) => (await client.query(`SHOW ${name}`)).rows[0][name]
    expect(await setting('synchronous_commit')).toBe('on')
    expect(await setting('default_transaction_isolation')).toBe('read committed')
    expect([await setting('jit'), await setting('enable_seqscan')]).toEqual(['off', 'off'])
    await client.end()
  })

  test('a role that may not wait for the disk is made to wait all the same', async () => {
    await cluster().asSuperuser('ALTER ROLE farebox SET synchronous_commit = off')
    const client = await connectForWriting({ url: cluster().url, schema: 'farebox' })
    expect((await client.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'on' }])
    await client.end()
    await cluster().asSuperuser('ALTER ROLE farebox RESET synchronous_commit')
  })

  test('a server that does not sync is refused', { timeout: 60_000 }, async () => {
    await cluster().kill()
    await cluster().run('fsync=off')
    await expect(openPostgresStore({ url: cluster().url })).rejects.toMatchObject({
      kind: 'unusable_database',
      message: expect.stringContaining('fsync off'),
    })
    await cluster().kill()
    await cluster().run()
  })

  test('a database of another release is refused in words', async () => {
    const { store, schema, url } = await openSchemaStore(cluster())
    await store.close()
    await query(url, `INSERT INTO ${schema}.kysely_migration (name, timestamp) VALUES ('9999-future', '2030')`)
    await expect(openPostgresStore({ url, schema })).rejects.toMatchObject({
      kind: 'unusable_database',
      message: expect.stringContaining('another release'),
    })
  })

  test('a database of the first release gets the migrations that came later', async () => {
    const [url, schema] = [cluster().url, cluster().newSchema()]
    const first = '0001-first-release'
    await migratePostgres({ url, schema }, undefined, { [first]: migrations[first] as Migration })
    const foldEntries = `SELECT prosrc FROM pg_proc WHERE proname = 'fold_entries' AND pronamespace = '${schema}'::regnamespace`
    expect(JSON.stringify(await query(url, foldEntries))).not.toContain('refunded')
    const store = await openPostgresStore({ url, schema })
    expect(JSON.stringify(await query(url, foldEntries))).toContain('refunded')
    await store.close()
  })

  test('a role that may not make the tables is told what it lacks', async () => {
    await cluster().asSuperuser("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    await expect(openPostgresStore({ url: cluster().urlOf('guest:guest', 'farebox') })).rejects.toMatchObject({
      kind: 'unusable_database',
      message: expect.stringMatching(/its role may not create or change the schema farebox; grant it CREATE/),
    })
  })

  test('a database that is read-only before it has tables is not taken for one of another release', async () => {
    const url = `${cluster().url}?options=-c%20default_transaction_read_only%3Don`
    await expect(openPostgresStore({ url, schema: cluster().newSchema() })).rejects.toMatchObject({
      kind: 'unusable_database',
      message: expect.stringMatching(/cannot be opened \(.*read-only transaction/),
    })
  })

  test.each([
    ['nobody listens', async () => `postgres://farebox:secret@127.0.0.1:${await freePort()}/farebox`],
    ['there is no such database', async () => cluster().urlOf('farebox:secret', 'elsewhere')],
    ['there is no such role', async () => cluster().urlOf('stranger:secret', 'farebox')],
  ])('where %s, one sentence says so without the password', async (_what, urlOf) => {
    const refused = openPostgresStore({ url: await urlOf() })
    await expect(refused).rejects.toMatchObject({ kind: 'unusable_database' })
    await expect(refused).rejects.not.toThrow(/secret/)
  })

  test('the service’s own role cannot change an entry, nor can a superuser', async () => {
    const { tamper, store, schema, url, dispose } = await openSchemaStore(cluster())
    await mustCommit(store, account(), grant(5n))
    for (const text of [
      `UPDATE ${schema}.entry SET amount = 1`,
      `DELETE FROM ${schema}.entry`,
      `TRUNCATE ${schema}.entry`,
    ]) {
      await expect(query(url, text)).rejects.toThrow(/permission denied/)
      await expect(tamper(text)).rejects.toThrow(/append-only/)
    }
    await dispose()
  })

  test('reads are exact, narrowed by the names of their columns, and cannot write', async () => {
    const { store, dispose } = await openSchemaStore(cluster())
    await mustCommit(store, account(), grant(10n ** 15n))
    const row = await store.read
      .selectFrom('account')
      .select([
        'id',
        'posted',
        sql<bigint>`sum(posted) * 1000000`.as('total_usd'),
        sql<bigint>`7`.as('small_usd'),
        sql<number>`count(*)`.as('n'),
        sql<number>`avg(created_at_ms)`.as('mean'),
      ])
      .groupBy(['id', 'posted'])
      .executeTakeFirst()
    const exact = { posted: 10n ** 15n, total_usd: 10n ** 21n, small_usd: 7n }
    expect(row).toEqual({ id: 'ada', ...exact, n: 1, mean: nowMs })
    await expect(store.read.deleteFrom('hold').execute()).rejects.toThrow(/read-only/)
    await expect(store.read.selectFrom('account').select(sql<number>`2^60::bigint`.as('n')).execute()).resolves.toEqual(
      [{ n: 2 ** 60 }],
    )
    await expect(
      store.read.selectFrom('account').select(sql<number>`9007199254740993`.as('n')).execute(),
    ).rejects.toThrow(/too large/)
    await dispose()
  })

  test('an audit may take longer than the role’s statements', async () => {
    const reader = await postgresAuditReader(`${cluster().url}?options=-c%20statement_timeout%3D100`)
    for await (const row of reader.rows<{ slept: string }>('SELECT 1::text AS slept FROM pg_sleep(0.2)'))
      expect(row.slept).toBe('1')
    await reader.close()
  })

  test('a unit that breaks the database fails alone', async () => {
    const { store, tamper, dispose } = await openSchemaStore(cluster())
    await tamper(`CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
      CREATE TRIGGER broken BEFORE INSERT ON nonce FOR EACH ROW WHEN (NEW.id = 'bad') EXECUTE FUNCTION broken()`)
    const good = Array.from({ length: 20 }, (_, index) => store.commit([unit(account(`a${index}`))]))
    const bad = store.commit([unit(account('bad'), nonce('bad'))])
    const later = Array.from({ length: 20 }, (_, index) => store.commit([unit(account(`b${index}`))]))
    await expect(bad).rejects.toMatchObject({ name: 'StoreError', kind: 'unit_failed' })
    const outcomes = (await Promise.all([...good, ...later])).flat()
    expect(outcomes).toEqual(Array.from({ length: 40 }, () => ({ ok: true, again: false, balances: [] })))
    await tamper('DROP TRIGGER broken ON nonce; DROP FUNCTION broken')
    await dispose()
  })

  test('a queue above its bound is refused at once, and what waits is still written', { timeout: 60_000 }, async () => {
    const { store, dispose } = await openSchemaStore(cluster())
    const waiting = store.commit(Array.from({ length: queuedUnits }, (_, index) => unit(nonce(`n${index}`))))
    await expect(store.commit([unit(nonce('one more'))])).rejects.toMatchObject({ kind: 'queue_full' })
    expect((await waiting).every(outcome => outcome.ok)).toBe(true)
    expect(await store.commit([unit(nonce('one more'))])).toMatchObject([{ ok: true }])
    await dispose()
  })

  test('old outcomes and expired nonces go, the log keeps its newest rows, and money stays', async () => {
    const { store, dispose } = await openSchemaStore(cluster())
    await mustCommit(store, account(), grant(5n, 'once'), hold('h', 1n), { op: 'release', hold: 'h' })
    await store.commit([{ id: uuidV7Floor(nowMs), ops: Array.from({ length: 10 }, (_, at) => limit(`a${at}`)) }])
    await mustCommit(store, nonce('old', nowMs))
    const slice = { table: 'limit_log', createdBeforeMs: 0, keepNewest: 3 } as const
    expect([await store.prune(slice, 5), await store.prune(slice, 5)]).toEqual([5, 2])
    const year = 365 * 24 * 60 * 60 * 1000
    expect(await pruneStore(store, nowMs + year)).toMatchObject({ units: 3, nonces: 1, limitRows: 3 })
    expect(await commitOps(store, hold('h', 1n))).toMatchObject({ why: 'hold_exists' })
    expect(await commitOps(store, grant(5n, 'once'))).toMatchObject({ why: 'ref_exists' })
    await dispose()
  })

  test('large jobs are stored whole, each in a batch of its own where they are too large for one', {
    timeout: 60_000,
  }, async () => {
    const { store, dispose } = await openSchemaStore(cluster())
    const image = JSON.stringify(`ü\\"\n🙂${'x'.repeat(4_500_000)}`)
    const set = { account: 'ada', model: 'm', request: 'r', input: image }
    const jobs = [1, 2, 3, 4, 5].map(n => ({
      ...{ op: 'job' as const, job: `j${n}`, from: null, to: 'queued' as const, fence: 0, atMs: nowMs },
      set: { ...set, request: `r${n}` },
    }))
    await mustCommit(store, account())
    const outcomes = await Promise.all(jobs.map(job => commitOps(store, job)))
    expect(outcomes.map(outcome => outcome.ok)).toEqual(jobs.map(() => true))
    const rows = await store.read.selectFrom('job_input').select('input').execute()
    expect(rows.every(row => row.input === image)).toBe(true)
    await dispose()
  })

  test('closing twice is closing once', async () => {
    const { store } = await openSchemaStore(cluster())
    await Promise.all([store.close(), store.close()])
    await expect(commitOps(store, account())).rejects.toMatchObject({ kind: 'closed' })
  })
})
