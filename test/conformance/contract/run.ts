/** `npm run contract`: calls every published operation on a real service, and says what fits. */
import { drive } from './drive.ts'
import { publishedOperations } from './published-contract.ts'
import { recipes } from './recipes.ts'
import { openStand } from './stand.ts'
import { tableOf } from './table.ts'

const stand = await openStand()
try {
  const all = []
  for (const published of publishedOperations) all.push(await drive(published, recipes[published.id], stand))
  for (const line of tableOf(all)) process.stdout.write(`${line}\n`)
  process.exitCode = all.every(({ state }) => state === 'fits') ? 0 : 1
} finally {
  await stand.close()
}
