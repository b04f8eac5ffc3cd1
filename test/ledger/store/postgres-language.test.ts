/** A store and its readers on a server whose messages are not in English. */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { isOtherSchema } from '#cli/data/ledger-place.ts'
import { watchedStore } from '#ledger/ledger-watch.ts'
import { openPostgresReader, openPostgresStore } from '#ledger/store/postgres/open.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { GermanProxy } from './postgres-german-proxy.ts'
import { account, commitOps, grant, hold, mustCommit, nonce, unit } from './sample-ops.ts'

withPostgres('PostgreSQL that speaks German', cluster => {
  /** A store behind the proxy, with its tables, and what its watch told. */
  async function open() {
    const { store: own, schema, tamper, dispose } = await openSchemaStore(cluster())
    const proxy = await GermanProxy.to(cluster().port)
    const url = cluster().urlOf('farebox', 'farebox', proxy.port)
    const told: string[] = []
    const store = watchedStore(await openPostgresStore({ url, schema }), reason => told.push(reason))
    const leave = async () => {
      await store.close()
      await proxy.close()
    }
    /** For tables that are as they were made. */
    const close = async () => {
      await leave()
      await dispose()
    }
    return { store, own, told, proxy, tamper, leave, close, url, schema }
  }

  test('a unit that breaks a rule fails alone, at once, and is told', async () => {
    const { store, told, proxy, tamper, close } = await open()
    await mustCommit(store, account(), grant(5n))
    await tamper('ALTER TABLE account ADD CONSTRAINT damaged CHECK (posted < 100)')
    const bad = store.commit([unit(grant(200n, 'too much'))])
    const good = store.commit([unit(nonce('beside it'))])
    await expect(bad).rejects.toMatchObject({ name: 'StoreError', kind: 'broken_rule' })
    expect(await good).toMatchObject([{ ok: true }])
    expect(told).toHaveLength(1)
    // Together, then alone: a database that were taken for lost would have been asked some thirty times.
    expect(proxy.errors).toBe(2)
    await tamper('ALTER TABLE account DROP CONSTRAINT damaged')
    await close()
  })

  test.each([
    ['the trigger that keeps entries', 'broken_rule', "RAISE 'Eintrag' USING ERRCODE = 'FB002'"],
    ['a unique name of an entry', 'broken_rule', "RAISE 'doppelt' USING ERRCODE = '23505', TABLE = 'entry'"],
    ['a unique name elsewhere', 'unit_failed', "RAISE 'doppelt' USING ERRCODE = '23505', TABLE = 'job'"],
    ['another error', 'unit_failed', "RAISE 'check constraint'"],
    ['a full disk that ends nothing', 'unreachable', "RAISE 'voll' USING ERRCODE = '53100'"],
    ['a disk that fails', 'unreachable', "RAISE 'Lesefehler' USING ERRCODE = '58030'"],
    ['a lock that another session keeps', 'unreachable', "RAISE 'gesperrt' USING ERRCODE = '55P03'"],
  ])('%s is %s', async (_what, kind, raise) => {
    const { store, told, tamper, close } = await open()
    await tamper(`CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${raise}; END $$;
      CREATE TRIGGER broken BEFORE INSERT ON nonce FOR EACH ROW EXECUTE FUNCTION broken()`)
    await expect(commitOps(store, nonce('bad'))).rejects.toMatchObject({ kind })
    expect(told).toHaveLength(kind === 'broken_rule' ? 1 : 0)
    expect(await commitOps(store, account())).toMatchObject({ ok: true })
    await tamper('DROP TRIGGER broken ON nonce; DROP FUNCTION broken')
    await close()
  })

  test('a read that fails with its disk finds the ledger unreachable', async () => {
    const { store, tamper, close } = await open()
    await tamper(`CREATE FUNCTION broken() RETURNS int LANGUAGE plpgsql AS
      $$ BEGIN RAISE 'Lesefehler' USING ERRCODE = '58030'; END $$`)
    await expect(sql`SELECT broken()`.execute(store.read)).rejects.toMatchObject({ kind: 'unreachable' })
    await tamper('DROP FUNCTION broken')
    await close()
  })

  test('changing an entry is refused with an error code of our own', async () => {
    const { store, tamper, close } = await open()
    await mustCommit(store, account(), grant(5n))
    await expect(tamper('UPDATE entry SET amount = 1')).rejects.toMatchObject({ code: 'FB002' })
    await close()
  })

  test('a session that the server ended is taken up again', async () => {
    const { store, close } = await open()
    await mustCommit(store, account(), grant(5n))
    await cluster().asSuperuser(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'farebox%'",
    )
    expect(await commitOps(store, hold('h', 1n))).toMatchObject({ ok: true })
    expect(await store.read.selectFrom('hold').select('id').execute()).toEqual([{ id: 'h' }])
    await close()
  })

  test('tables of another release are known by their code', async () => {
    const { tamper, leave, own, url, schema } = await open()
    await tamper('ALTER TABLE hold DROP COLUMN owed; DROP TABLE claim CASCADE')
    const read = await openPostgresReader({ url, schema })
    const missing = await read
      .selectFrom('hold')
      .select('owed')
      .execute()
      .catch(error => error)
    const gone = await read
      .selectFrom('claim')
      .selectAll()
      .execute()
      .catch(error => error)
    expect([missing, gone].map(isOtherSchema)).toEqual([true, true])
    await read.destroy()
    await leave()
    await own.close()
  })
})
