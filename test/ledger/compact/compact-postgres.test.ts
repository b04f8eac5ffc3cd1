import { postgresAuditReader } from '#ledger/audit/audit-reader.ts'
import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { compactContract } from './compact-contract.ts'

withPostgres('on a server of its own', cluster => {
  const schemas = new WeakMap<object, string>()
  compactContract('a ledger in PostgreSQL', {
    async open() {
      const opened = await openSchemaStore(cluster())
      schemas.set(opened, opened.schema)
      return opened
    },
    reader: opened => postgresAuditReader(cluster().url, schemas.get(opened)),
  })
})
