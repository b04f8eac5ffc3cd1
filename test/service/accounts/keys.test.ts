import { describe } from 'vitest'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { openOnPostgres, openOnSqlite } from './account-fixture.ts'
import { keyCountRules, keyRules } from './key-rules.ts'

describe('keys of an account on SQLite', () => {
  keyRules(openOnSqlite)
  describe('their number', () => keyCountRules(openOnSqlite))
})

withPostgres('keys of an account on PostgreSQL', cluster => {
  keyRules(openOnPostgres(cluster))
  describe('their number', () => keyCountRules(openOnPostgres(cluster)))
})
