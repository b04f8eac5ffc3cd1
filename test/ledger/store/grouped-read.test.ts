import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { balanceOf } from '#ledger/accounts/balances.ts'
import { groupedRead } from '#ledger/store/batching.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { account, grant, mustCommit } from './sample-ops.ts'
import { openTemporaryStore } from './sqlite-folder.ts'
import type { OpenedStore } from './store-contract.ts'

function contract(name: string, open: () => Promise<OpenedStore>): void {
  describe(name, () => {
    let opened: OpenedStore
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => opened.dispose())

    const ids = Array.from({ length: 150 }, (_, index) => `account-${index}`)
    const credit = (id: string, index: number) => [account(id), grant(BigInt(index + 1), `grant:${id}`, id)]
    const posted = async (id: string) => (await balanceOf(opened.store, id)).postedMicroUsd

    test('each of many who ask together gets what is theirs, and who has nothing gets nothing', async () => {
      for (const [index, id] of ids.entries()) await mustCommit(opened.store, ...credit(id, index))
      const asked = [...ids, 'nobody', ...ids.toReversed()]
      const found = await Promise.all(asked.map(posted))
      expect(found).toEqual(asked.map(id => BigInt(ids.indexOf(id) + 1)))
    })

    test('sees what was acknowledged before it was asked, also while others are read', async () => {
      await mustCommit(opened.store, ...credit('ada', 0))
      for (let round = 1n; round <= 20n; round++) {
        const others = ids.map(posted)
        await mustCommit(opened.store, grant(1n, `grant:${round}`))
        const more = ids.map(posted)
        expect(await posted('ada')).toBe(1n + round)
        await Promise.all([...others, ...more])
      }
    })

    test('a statement that fails fails those who were in it, and no others', async () => {
      await mustCommit(opened.store, ...credit('ada', 0))
      let fails = true
      const read = opened.store.read.withPlugin({
        transformQuery: ({ node }) => node,
        async transformResult({ result }) {
          if (fails) throw new Error('the database is away')
          return result
        },
      })
      const rowOf = groupedRead(
        (from, keys) => from.selectFrom('account').select(['id', 'posted']).where('id', 'in', keys),
        row => row.id,
      )
      const failed = await Promise.allSettled(ids.map(id => rowOf(read, id)))
      expect(new Set(failed.map(({ status }) => status))).toEqual(new Set(['rejected']))
      fails = false
      expect(await rowOf(read, 'nobody', 'ada')).toEqual({ id: 'ada', posted: 1n })
    })

    test('travels in few statements', async () => {
      const sizes: number[] = []
      const rowOf = groupedRead(
        (from, keys) => {
          sizes.push(keys.length)
          return from.selectFrom('account').select('id').where('id', 'in', keys)
        },
        row => row.id,
      )
      const some = ids.slice(0, 70)
      await Promise.all(some.map(id => rowOf(opened.store.read, id)))
      await Promise.all(some.map(id => rowOf(opened.store.read, id)))
      // 64 go together, and what is left fills up the smallest statement that fits. Each is built once.
      expect(sizes).toEqual([64, 16])
    })
  })
}

contract('a grouped read of SQLite', openTemporaryStore)
withPostgres('on a server of its own', cluster => {
  contract('a grouped read of PostgreSQL', () => openSchemaStore(cluster()))
})
