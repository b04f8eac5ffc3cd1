import type { Store } from './store.ts'

/** When the first table of these books was made; a backup that is restored keeps it. */
export async function booksMadeAtMs({ read }: Pick<Store, 'read'>): Promise<number> {
  const { made } = await read
    .withTables<{ kysely_migration: { name: string; timestamp: string } }>()
    .selectFrom('kysely_migration')
    .select(({ fn }) => fn.min('timestamp').as('made'))
    .executeTakeFirstOrThrow()
  const madeAtMs = Date.parse(made)
  if (Number.isNaN(madeAtMs)) throw new Error(`The books do not say when they were made: ${made}.`)
  return madeAtMs
}
