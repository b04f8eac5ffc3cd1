import { OperatorQueries } from '#operator/queries/operator-queries.ts'
import { openTemporaryStore } from '../../ledger/store/sqlite-folder.ts'
import { customerPagesContract } from './customer-pages-contract.ts'
import { operatorContract } from './operator-contract.ts'
import { oddInputsContract } from './unusual-inputs-contract.ts'
import { usagePagesContract } from './usage-pages-contract.ts'

operatorContract('operators on SQLite', openTemporaryStore)

operatorContract('operators on SQLite, beside requests', async () => {
  const opened = await openTemporaryStore()
  return { ...opened, beside: clock => new OperatorQueries(`sqlite:${opened.path}`, { clock }) }
})
oddInputsContract('odd inputs on SQLite', openTemporaryStore)
usagePagesContract('pages of usage on SQLite, while charges arrive', openTemporaryStore)
customerPagesContract('pages of customers on SQLite, while others come and go', openTemporaryStore)
