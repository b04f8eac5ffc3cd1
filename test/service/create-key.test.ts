/** A key, its customer and its credit: all of them or none. */
import { expect, onTestFinished, test } from 'vitest'
import { StoreError } from '#ledger/store/store.ts'
import { openService } from './open-service.ts'

test.each([
  ['before it was written', false],
  ['after it was written', true],
])(
  'an order whose commit fails %s leaves nothing behind, or all of it, and grants its credit once',
  async (_when, isWritten) => {
    let failures = 1
    const service = await openService({
      storeBefore: real => ({
        ...real,
        read: real.read,
        async commit(units) {
          if (failures === 0 || !units.some(({ ops }) => ops.some(({ op }) => op === 'key'))) return real.commit(units)
          failures--
          if (isWritten) await real.commit(units)
          throw new StoreError(isWritten ? 'outcome_unknown' : 'unreachable', 'away')
        },
      }),
    })
    onTestFinished(() => service.close())
    await service.key(5)
    const count = async (table: 'account' | 'api_key' | 'entry') =>
      (await service.store.read.selectFrom(table).select('id').execute()).length
    expect([await count('account'), await count('api_key'), await count('entry')]).toEqual([1, 1, 1])
  },
)

test('a key that is refused leaves no customer and no credit behind', async () => {
  let takes = false
  const service = await openService({
    storeBefore: real => ({
      ...real,
      read: real.read,
      commit: async units =>
        takes || !units.some(({ ops }) => ops.some(({ op }) => op === 'key'))
          ? real.commit(units)
          : units.map(() => ({ ok: false as const, op: 0, why: 'no_account' as const })),
    }),
  })
  onTestFinished(() => service.close())
  await expect(service.key(5)).rejects.toThrow('no_account')
  takes = true
  await service.key(5)
  const entries = await service.store.read.selectFrom('entry').select('kind').execute()
  expect(entries).toEqual([{ kind: 'GRANT' }])
})
