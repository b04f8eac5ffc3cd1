/** Commits from several callers at once, and prints the id of each unit that was acknowledged, with a full stop. */
import { openStore } from '#ledger/store/open-store.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { account, capture, grant, hold } from './sample-ops.ts'

// By the environment where it is an address, as everywhere.
const { DATABASE_URL: database = process.argv[2] ?? '' } = process.env
const callers = 16

const store = await openStore(database)

async function commit(...ops: Op[]): Promise<void> {
  const id = uuidV7(Date.now())
  const [outcome] = await store.commit([{ id, ops }])
  if (!outcome?.ok) throw new Error(`A unit was refused: ${outcome?.why}.`)
  // Not `writeSync`, which fails where the reader is slower than the ledger.
  await new Promise<void>(written => process.stdout.write(`${id}.\n`, () => written()))
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
