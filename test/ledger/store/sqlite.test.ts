import { openTemporaryStore } from './sqlite-folder.ts'
import { storeContract } from './store-contract.ts'

storeContract('the SQLite store', openTemporaryStore)
