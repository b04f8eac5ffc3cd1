import { expect, onTestFinished, test } from 'vitest'
import { listPayments } from '#wallet/records/journal.ts'
import { lend, openPool, prepare, schema } from '#wallet/records/postgres/connection.ts'
import { postgresRecords } from '#wallet/records/postgres/postgres-records.ts'
import { change, first } from '#wallet/records/records.ts'
import { postgresMigrations } from '#wallet/records/schema.ts'
import type { Migration } from '#wallet/records/state.ts'
import { stopOf } from '#wallet/rules/stop-switch.ts'
import { type Cluster, freePort, query } from '../postgres/cluster.ts'
import { CuttingProxy } from '../postgres/cutting-proxy.ts'
import { withPostgres } from '../postgres/with-postgres.ts'
import { fakeService, order, readHeader, sampleWallet } from './sample-wallet.ts'

async function newDatabase(cluster: Cluster): Promise<string> {
  const name = cluster.newSchema()
  await cluster.asSuperuser(`CREATE DATABASE ${name} OWNER farebox`, 'postgres')
  return name
}

const opened = (url: string) => {
  const records = postgresRecords(url)
  onTestFinished(() => records.close())
  return records
}

/** Records behind a way that can be cut. */
async function cuttable(cluster: Cluster) {
  const name = await newDatabase(cluster)
  const proxy = await CuttingProxy.to(cluster.port)
  onTestFinished(() => proxy.close())
  const records = postgresRecords(cluster.urlOf('farebox', name, proxy.port), 2_000)
  onTestFinished(() => records.close())
  const direct = opened(cluster.urlOf('farebox', name))
  await records.read(stopOf)
  return { proxy, records, direct }
}

const password = 'swordfish-7'

withPostgres('the journal in PostgreSQL', cluster => {
  test('replicas that start together make the tables once', async () => {
    const url = cluster().urlOf('farebox', await newDatabase(cluster()))
    const replicas = Array.from({ length: 6 }, () => opened(url))
    expect(await Promise.all(replicas.map(records => records.read(stopOf)))).toEqual(Array(6).fill(null))
    expect(await query(url, `SELECT count(*)::int AS steps FROM ${schema}.migrations`)).toEqual([
      { steps: postgresMigrations.length },
    ])
  })

  test('a later release adds to the tables, all or nothing, and once', async () => {
    const url = cluster().urlOf('farebox', await newDatabase(cluster()))
    const pool = await openPool(url)
    onTestFinished(() => pool.end())
    const make = (...later: Migration[]) => lend(pool, ask => prepare(ask, [...postgresMigrations, ...later]))
    const wrong = make({ name: '0002-wrong', sql: 'CREATE TABLE more (n INTEGER); SELECT 1 / 0' })
    await expect(wrong).rejects.toMatchObject({ rule: 'state' })
    for (const _time of ['once', 'again']) await make({ name: '0002-more', sql: 'CREATE TABLE more (n INTEGER)' })
    const names = await query(url, `SELECT name FROM ${schema}.migrations ORDER BY name`)
    expect(names).toEqual([...postgresMigrations.map(({ name }) => ({ name })), { name: '0002-more' }])
  })

  test('tables of another release stop every payment', async () => {
    const url = cluster().urlOf('farebox', await newDatabase(cluster()))
    await opened(url).read(stopOf)
    await query(url, `INSERT INTO ${schema}.migrations VALUES ('wallet', '9999-from-tomorrow')`)
    await expect(opened(url).read(stopOf)).rejects.toMatchObject({
      rule: 'state',
      sentence:
        "The wallet's journal in PostgreSQL cannot be used: another release of farebox wrote its tables. Nothing is signed without it.",
      nextStep: 'Use that release, or name another database in FAREBOX_JOURNAL_URL.',
    })
  })

  test('a role without the right to make tables is told what to do', async () => {
    const name = await newDatabase(cluster())
    await cluster().asSuperuser(`CREATE ROLE poor_${name} LOGIN`)
    const records = opened(cluster().urlOf(`poor_${name}`, name))
    await expect(records.read(stopOf)).rejects.toMatchObject({
      rule: 'state',
      nextStep: expect.stringMatching(/Grant it CREATE/),
    })
  })

  test('a commit whose answer was lost is looked up, and what came before it is done again', async () => {
    const { proxy, records, direct } = await cuttable(cluster())
    let runs = 0
    const decided = await records.decide(function* () {
      runs++
      yield* change('INSERT INTO stops (one, at_ms, by_whom) VALUES (1, 7, ?)', 'ada')
      if (runs === 1) proxy.cutNextAnswer()
      yield* first('SELECT 1')
      // The only answer that is left is that of the commit.
      if (runs === 2) proxy.cutNextAnswer()
      return `decided by run ${runs}`
    })
    expect({ decided, cuts: proxy.cuts, runs }).toEqual({ decided: 'decided by run 2', cuts: 2, runs: 2 })
    expect(await direct.read(stopOf)).toEqual({ atMs: 7, by: 'ada' })
  })

  test('while the journal is away nothing is signed, and the refusal says so without the address', async () => {
    const url = `postgres://ada:${password}@127.0.0.1:${await freePort()}/books`
    const { wallet, dispose } = await sampleWallet({}, { records: postgresRecords(url, 0) })
    onTestFinished(dispose)
    const service = fakeService(wallet.address, 'credit')
    const refusal = await wallet.pay(order(), service.send).catch(error => error)
    expect(refusal).toMatchObject({
      rule: 'journal-away',
      sentence: expect.stringMatching(/ECONNREFUSED.*nothing is signed without it/),
    })
    expect(JSON.stringify([refusal, refusal.stack, refusal.cause])).not.toContain(password)
    expect(service.received).toEqual([])
  })

  test.each(['not an address', `https://ada:${password}@host/x`, `postgres://ada:${password}@ho st/x`])(
    'an address that cannot be one is not repeated',
    async url => {
      const refusal = await opened(url)
        .read(stopOf)
        .catch(error => error)
      expect(refusal).toMatchObject({ rule: 'state', sentence: expect.stringMatching(/FAREBOX_JOURNAL_URL/) })
      expect(String(refusal.stack)).not.toContain(password)
    },
  )

  test('what the tables refuse is told without the signed payment', async () => {
    const { direct } = await cuttable(cluster())
    const secret = 'eyJzaWduZWQiOiJwYXltZW50In0'
    const refused = direct.decide(() =>
      change(
        `INSERT INTO payments (id, state, counts, occasion, purpose, address, origin, network, asset, pay_to,
        amount_micro_usd, created_at_ms, updated_at_ms, payload) VALUES ('x', 'signed', 1, 'asked', '', '', '', '', '', '',
        1, 1, 1, ?)`,
        secret,
      ),
    )
    const refusal = await refused.catch(error => error)
    expect(refusal).toMatchObject({ rule: 'state', sentence: expect.stringMatching(/SQLSTATE 23514/) })
    expect(JSON.stringify([refusal, refusal.stack, refusal.cause])).not.toContain(secret)
  })

  test('a journal that goes away after the signature leaves a payment that is sent again, never a second one', async () => {
    const { proxy, records, direct } = await cuttable(cluster())
    const { wallet, dispose } = await sampleWallet({}, { records })
    onTestFinished(dispose)
    const service = fakeService(wallet.address, 'credit')
    const refusal = await wallet
      .pay(order(), async header => {
        await proxy.close()
        return service.send(header)
      })
      .catch(error => error)
    expect(refusal).toMatchObject({ rule: 'outcome-unknown', sentence: expect.stringMatching(/journal/) })
    const { wallet: again, dispose: disposeAgain } = await sampleWallet({}, { records: direct })
    onTestFinished(disposeAgain)
    await direct.decide(() => change('DELETE FROM top_up_lease'))
    expect(await again.recover(service.send)).toMatchObject([{ state: 'confirmed' }])
    expect(new Set(service.received.map(header => readHeader(header).authorization.nonce)).size).toBe(1)
    expect(await direct.read(() => listPayments(9))).toMatchObject([{ state: 'confirmed', sends: 2 }])
  })

  test('a replica that vanished in the middle of a decision is cut off by the database, and every commit is on its disk', async () => {
    const { direct } = await cuttable(cluster())
    const settings = await direct.decide(() =>
      first(`SELECT current_setting('idle_in_transaction_session_timeout') AS idle,
        current_setting('statement_timeout') AS statement, current_setting('synchronous_commit') AS synchronous`),
    )
    expect(settings).toEqual({ idle: '5s', statement: '5s', synchronous: 'on' })
  })
})
