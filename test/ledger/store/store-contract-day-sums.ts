/** Sums by day are what the entries of that day add up to, on every store and whatever writes the entries. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { Store } from '#ledger/store/store.ts'
import { account, budget, capture, grant, hold, key, mustCommit, nowMs, refund, topUp, unit } from './sample-ops.ts'
import type { OpenedStore } from './store-contract.ts'

const sumColumns = ['day_ms', 'account', 'model', 'kind', 'effect_usd', 'entries', 'requests'] as const

const sortedTexts = (rows: readonly object[]): string[] =>
  rows.map(row => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}` : value))).sort()

export const daySumsIn = async ({ read }: Pick<Store, 'read'>): Promise<string[]> =>
  sortedTexts(await read.selectFrom('day_sum').select(sumColumns).execute())

/** The same, added up from the entries. */
export const sumsOfEntries = async ({ read }: Pick<Store, 'read'>): Promise<string[]> => {
  const { rows } = await sql<object>`SELECT created_at_ms - created_at_ms % 86400000 AS day_ms, account,
      coalesce(model, '') AS model, kind, CAST(sum(effect) AS bigint) AS effect_usd, count(*) AS entries,
      CAST(sum(CASE WHEN kind = 'CHARGE' AND line = 0 THEN 1 ELSE 0 END) AS bigint) AS requests
    FROM entry GROUP BY 1, 2, 3, 4`.execute(read)
  return sortedTexts(rows)
}

export function daySumsContract(opened: () => OpenedStore): void {
  describe('sums by day', () => {
    const store = () => opened().store

    test('are those of the entries, of every kind and of units of one batch', async () => {
      const day = { staking: { dayMs: nowMs - (nowMs % 86_400_000), granted: 4n as never } }
      await mustCommit(store(), account(), account('bob'), key('k', undefined, 'ada', budget(50n)))
      await store().commit([
        unit(grant(90n)),
        unit(topUp(40n, 'p')),
        unit(topUp(7n, 'q', 'bob')),
        unit(hold('h', 20n)),
        unit(hold('i', 9n, 'ada', undefined, day)),
        unit(hold('j', 5n, 'bob')),
        unit(capture('h', [3n, 4n], 'r')),
        unit(capture('i', [6n], 's')),
        unit({ ...capture('j', [9n], 't'), writeOff: 4n } as never),
      ])
      await mustCommit(store(), refund('s'))
      const sums = await daySumsIn(store())
      expect(sums).toEqual(await sumsOfEntries(store()))
      const kinds = new Set(sums.map(sum => (JSON.parse(sum) as { kind: string }).kind))
      expect([...kinds].sort()).toEqual(['CHARGE', 'GRANT', 'REFUND', 'STAKING', 'TOP_UP', 'WRITE_OFF'])
    })
  })
}
