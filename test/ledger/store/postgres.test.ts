import { openSchemaStore } from '../../postgres/postgres-store.ts'
import { withPostgres } from '../../postgres/with-postgres.ts'
import { storeContract } from './store-contract.ts'

withPostgres('on a server of its own', cluster => {
  storeContract('the PostgreSQL store', () => openSchemaStore(cluster()))
})
