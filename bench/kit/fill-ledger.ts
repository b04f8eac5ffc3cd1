import { microUsd } from '#contract/money.ts'
import { openStore } from '#ledger/store/open-store.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

/** Units per call of the store; more would only take memory. */
const atOnce = 1_000

/** Writes the holds of a killed service, half of them with a checkpoint of their cost. */
export async function leaveHolds(database: string, accounts: readonly string[], count: number): Promise<void> {
  const unit = (place: number): Unit => {
    const id = uuidV7(Date.now())
    const hold = holdOf(id, accountOf(accounts, place))
    const owed = { request: id, model: 'bench-chat', lines }
    const renew: Op = { op: 'renew', hold: id, lease: hold.lease, owed }
    return { id: `${id}/hold`, ops: place % 2 ? [hold, renew] : [hold] }
  }
  await withStore(database, async store => {
    for (let made = 0; made < count; made += atOnce) {
      const units = Array.from({ length: Math.min(atOnce, count - made) }, (_, index) => unit(made + index))
      await mustCommit(store, units)
    }
  })
}

/** Commits units, each of these operations. */
export async function commitAll(database: string, units: readonly Op[][]): Promise<void> {
  await withStore(database, async store => {
    for (let made = 0; made < units.length; made += atOnce) {
      const part = units.slice(made, made + atOnce)
      await mustCommit(
        store,
        part.map(ops => ({ id: `${uuidV7(Date.now())}/bench`, ops })),
      )
    }
  })
}

async function withStore(database: string, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(database)
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

const accountOf = (accounts: readonly string[], place: number): string => accounts[place % accounts.length] ?? ''

async function mustCommit(store: Store, units: readonly Unit[]): Promise<void> {
  const refused = (await store.commit(units)).find(outcome => !outcome.ok)
  if (refused) throw new Error(`The ledger refused a unit of the generator: ${JSON.stringify(refused)}`)
}

function holdOf(hold: string, account: string): Extract<Op, { op: 'hold' }> {
  const atMs = Date.now()
  const lease = { owner: 'a process that was killed', untilMs: atMs - 1 }
  return { op: 'hold', hold, account, amount: microUsd(50n), lease, atMs }
}

const lines = [{ sku: 'chat.output', units: 7n, unitPricePicoUsd: 1_000_000n, amount: microUsd(7n) }]
