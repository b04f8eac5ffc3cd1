import { openSqliteStore as open } from '#ledger/store/sqlite/open.ts'
import { armedStore } from './armed-store.ts'

export * from '#ledger/store/sqlite/open.ts'

export const openSqliteStore: typeof open = async options => armedStore(await open(options))
