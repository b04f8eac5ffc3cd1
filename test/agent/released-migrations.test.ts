/** A folder or a database never applies a migration twice, so a change to a released one would reach only new ones. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { agentMigrations } from '#agent/state/schema.ts'
import { postgresMigrations, walletMigrations } from '#wallet/records/schema.ts'
import type { Migration } from '#wallet/records/state.ts'

/** SHA-256 of each migration's statements, its first 16 digits. A line is added with a migration, and never changed. */
const released: Record<string, string> = {
  'agent/0001-first-release': '09b9e52a2e4728d2',
  'postgres/0001-first-release': '8292173a3cde2ee3',
  'wallet/0001-first-release': '406ef7fcb3f80041',
}

const found = Object.entries({
  agent: agentMigrations,
  postgres: postgresMigrations,
  wallet: walletMigrations,
}).flatMap(([area, migrations]) => migrations.map(migration => ({ ...migration, name: `${area}/${migration.name}` })))

/** Comments and white space may still be corrected. */
const statementsOf = ({ sql }: Migration): string => sql.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim()

test.each(found)('$name is as it was released', migration => {
  const { name } = migration
  const hash = createHash('sha256').update(statementsOf(migration)).digest('hex').slice(0, 16)
  const what = released[name]
    ? `${name} has been released and may not be changed: put it back, and add a new migration that corrects it.`
    : `${name} is new: add its line to this test once it is finished, and never change it after.`
  expect(hash, what).toBe(released[name])
})

test('every released migration is still there', () => {
  expect(found.map(({ name }) => name).sort()).toEqual(Object.keys(released).sort())
})
