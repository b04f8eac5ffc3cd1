import { expect, test } from 'vitest'
import { systemClock } from '#contract/time.ts'
import { callOperator } from '#operator/queries/call-operator.ts'
import { OperatorQueries } from '#operator/queries/operator-queries.ts'
import { account, mustCommit, nowMs, topUp } from '../../ledger/store/sample-ops.ts'
import { query } from '../../postgres/cluster.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { contextAt } from './context-at.ts'
import { customerPagesContract } from './customer-pages-contract.ts'
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

  test('an entry that another process commits late is not added to a list that has begun', async () => {
    const { store, tamper, dispose } = await openSchemaStore(cluster())
    const context = contextAt(store, () => nowMs)
    const page = (after?: string) => callOperator(context, 'usage', { by: ['customer'], limit: 1, after }, 'a test')
    try {
      await mustCommit(store, account('ada'), account('bob'), topUp(9n, 'a', 'ada'))
      // The other process has its number already.
      await tamper("SELECT nextval(pg_get_serial_sequence('entry', 'seq'))")
      await mustCommit(store, topUp(9n, 'b', 'bob'))
      const { next } = await page()
      await tamper(`INSERT INTO entry (seq, id, kind, account, debit, credit, amount, posted_after, ref, line, created_at_ms)
        SELECT seq + 1, 'late', kind, account, debit, credit, amount, posted_after + 9, 'late', 0, created_at_ms
        FROM entry WHERE account = 'ada'`)
      await expect(page(next ?? '')).rejects.toThrow(
        'This list changed while it was read. Start again from its beginning.',
      )
    } finally {
      await dispose()
    }
  })

  usagePagesContract('pages of usage on PostgreSQL, while charges arrive', () => openSchemaStore(cluster()))
  customerPagesContract('pages of customers on PostgreSQL, while others come and go', () => openSchemaStore(cluster()))
})
