/** `npm run contract`: calls every published operation on a real service, and reports which match the schema. */

import { openStand } from './contract-service.ts'
import { type Driven, drive } from './drive.ts'
import { publishedOperations } from './published-contract.ts'
import { recipes } from './recipes.ts'

const statuses = (reached: readonly number[]) => reached.join(' ') || '–'

/** A line an operation, what is at fault below it, and how many of all there are. */
export function tableOf(all: readonly Driven[]): string[] {
  const lines = all.flatMap(({ method, path, state, reached, unreachable, faults }) => [
    `${state.padEnd(9)} ${method.padEnd(6)} ${path.padEnd(34)} ${statuses(reached)}`,
    ...Object.entries(unreachable).map(([status, why]) => `            not reached ${status}: ${why}`),
    ...faults.map(fault => `            FAULT ${fault}`),
  ])
  const count = (state: Driven['state']) => all.filter(each => each.state === state).length
  const [fits, fails, bare, missing] = [count('fits'), count('fails'), count('no recipe'), count('missing')]
  return [
    ...lines,
    `${fits} of ${all.length} fit; ${fails} do not, ${bare} are built and not driven, ${missing} are not built.`,
  ]
}

const stand = await openStand()
try {
  const all = []
  for (const published of publishedOperations) all.push(await drive(published, recipes[published.id], stand))
  for (const line of tableOf(all)) process.stdout.write(`${line}\n`)
  process.exitCode = all.every(({ state }) => state === 'fits') ? 0 : 1
} finally {
  await stand.close()
}
