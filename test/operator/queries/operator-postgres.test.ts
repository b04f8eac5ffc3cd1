import { expect, test } from 'vitest'
import { systemClock } from '#contract/time.ts'
import { OperatorQueries } from '#operator/queries/operator-queries.ts'
import { query } from '../../postgres/cluster.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { operatorContract } from './operator-contract.ts'
import { oddInputsContract } from './unusual-inputs-contract.ts'
import { usagePagesContract } from './usage-pages-contract.ts'

withPostgres('on a server of its own', cluster => {
  operatorContract('operators on PostgreSQL', () => openSchemaStore(cluster()))

  operatorContract('operators on PostgreSQL, beside requests', async () => {
    const opened = await openSchemaStore(cluster())
    const { url, schema } = opened
    return { ...opened, beside: clock => new OperatorQueries(url, { clock, schema }) }
  })

  test('queries take two connections at most, however many are asked', async () => {
    const { url, schema, dispose } = await openSchemaStore(cluster())
    const queries = new OperatorQueries(url, { clock: systemClock, schema })
    try {
      const ofOperators = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'farebox operators'`
      await Promise.all(Array.from({ length: 20 }, () => queries.ask('overview', {})))
      expect(await query(url, ofOperators)).toEqual([{ n: 2 }])
    } finally {
      await queries.close()
      await dispose()
    }
  })
  oddInputsContract('odd inputs on PostgreSQL', () => openSchemaStore(cluster()))
  usagePagesContract('pages of usage on PostgreSQL, while charges arrive', () => openSchemaStore(cluster()))
})
