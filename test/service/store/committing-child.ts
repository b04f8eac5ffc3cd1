/** Commits from several callers at once, and prints the id of each unit that was acknowledged, with a full stop. */
import { writeSync } from 'node:fs'
import { openSqliteStore } from '#service/store/sqlite/open.ts'
import type { Op } from '#service/store/units.ts'
import { uuidV7 } from '#service/store/uuid-v7.ts'
import { account, capture, grant, hold } from './sample-ops.ts'

const [, , path = ''] = process.argv
const callers = 16

const store = await openSqliteStore({ path })

async function commit(...ops: Op[]): Promise<void> {
  const id = uuidV7(Date.now())
  const [outcome] = await store.commit([{ id, ops }])
  if (!outcome?.ok) throw new Error(`A unit was refused: ${outcome?.why}.`)
  writeSync(1, `${id}.\n`)
}

await commit(account(), grant(1_000_000_000n))
await Promise.all(
  Array.from({ length: callers }, async () => {
    for (;;) {
      const request = uuidV7(Date.now())
      await commit(hold(request, 50n))
      await commit(capture(request, [20n, 7n]))
    }
  }),
)
