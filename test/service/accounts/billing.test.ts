import { describe } from 'vitest'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { openOnPostgres, openOnSqlite } from './account-fixture.ts'
import { billingRules } from './billing-rules.ts'

describe('what an account is told of its money on SQLite', () => billingRules(openOnSqlite))

withPostgres('what an account is told of its money on PostgreSQL', cluster => billingRules(openOnPostgres(cluster)))
