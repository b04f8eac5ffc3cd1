import { openPostgresStore as open } from '#ledger/store/postgres/open.ts'
import { armedStore } from './armed-store.ts'

export * from '#ledger/store/postgres/open.ts'

export const openPostgresStore: typeof open = async options => armedStore(await open(options))
