/**
 * Commits stories from several callers at once, in a store that it opens anew now and then, and writes the id of each
 * unit that was acknowledged, with the balances that were told, into a file beside the database.
 */
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { microUsd } from '#contract/money.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { seeded } from '../seeded.ts'
import { acknowledgedName, databaseName, sayAcknowledged } from './acknowledged.ts'
import { drawStory } from './stories.ts'

const [, , folder = '', seed = '0', units = '0'] = process.argv
const callers = 8
const openings = 3
/** The store's own checkpoints come every few thousand pages, too seldom for a short recording. */
const unitsBetweenCheckpoints = 250

const acknowledged = openSync(join(folder, acknowledgedName), 'a')
let committed = 0

for (let opening = 0; opening < openings; opening++) {
  const store = await openSqliteStore({ path: join(folder, databaseName) })
  const checkpoint = checkpointer(join(folder, databaseName))
  const end = (Number(units) * (opening + 1)) / openings
  await Promise.all(
    Array.from({ length: callers }, (_, caller) => tellStories({ store, checkpoint }, caller, opening, end)),
  )
  // The last store is not closed, so that the recording ends in the middle of things.
  if (opening === openings - 1) break
  checkpoint.close()
  await store.close()
}
process.exit(0)

interface Teller {
  store: Store
  checkpoint(): void
}

/** Writes the log's pages to their places every so many units, as a full log does; the next commit begins the log anew. */
function checkpointer(path: string): Teller['checkpoint'] & { close(): void } {
  const database = new DatabaseSync(path)
  const statement = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  return Object.assign(
    () => {
      if (committed % unitsBetweenCheckpoints === 0) statement.get()
    },
    { close: () => database.close() },
  )
}

async function tellStories({ store, checkpoint }: Teller, caller: number, opening: number, end: number): Promise<void> {
  const draws = seeded(Number(seed), `${opening}/${caller}`)
  const account = `customer-${opening}-${caller}`
  await commit(store, `${uuidV7(Date.now())}/open`, [
    { op: 'account', account, kind: 'customer', atMs: Date.now() },
    { op: 'credit', account, amount: microUsd(10n ** 9n), source: 'system:grant', ref: account, atMs: Date.now() },
  ])
  while (committed < end) {
    const id = uuidV7(Date.now())
    for (const { name, ops } of drawStory(draws)(id, account, draws)) {
      await commit(store, `${id}/${name}`, ops)
      checkpoint()
    }
  }
}

async function commit(store: Store, id: string, ops: readonly Op[]): Promise<void> {
  const [outcome] = await store.commit([{ id, ops }])
  if (!outcome?.ok) throw new Error(`Unit ${id} was refused: ${outcome?.why}.`)
  writeSync(acknowledged, sayAcknowledged({ id, balances: outcome.balances }))
  committed++
}
