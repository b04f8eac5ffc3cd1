import { microUsd } from '#contract/money.ts'
import { openStore } from '#ledger/store/open-store.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

/** Units in one call of the store; more would only take memory. */
const atOnce = 1_000

/** Each charge is two entries: input and output. */
const linesOfCharge = 2

const leaseMs = 60_000

/** Charges as a service writes them, a hold and a capture each, in turn for these accounts, until there are so many entries. */
export async function fillEntries(database: string, accounts: readonly string[], entries: number): Promise<void> {
  const charges = Math.ceil(entries / linesOfCharge)
  await withStore(database, async store => {
    for (let made = 0; made < charges; made += atOnce) {
      const places = Array.from({ length: Math.min(atOnce, charges - made) }, (_, index) => made + index)
      const holds = places.map(place => ({ id: uuidV7(Date.now()), account: accountOf(accounts, place) }))
      await mustCommit(
        store,
        holds.map(({ id, account }) => ({ id: `${id}/hold`, ops: [holdOf(id, account, leaseMs)] })),
      )
      await mustCommit(
        store,
        holds.map(({ id }) => ({ id: `${id}/capture`, ops: [captureOf(id)] })),
      )
    }
  })
}

/** Holds that a killed service has left, half of them with a checkpoint of what they owe. */
export async function leaveHolds(database: string, accounts: readonly string[], count: number): Promise<void> {
  const unit = (place: number): Unit => {
    const id = uuidV7(Date.now())
    const hold = holdOf(id, accountOf(accounts, place), -1)
    const owed = { request: id, model: 'bench-chat', lines: linesOf(0n, 7n) }
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

function holdOf(hold: string, account: string, forMs: number): Extract<Op, { op: 'hold' }> {
  const atMs = Date.now()
  const lease = { owner: 'a process that was killed', untilMs: atMs + forMs }
  return { op: 'hold', hold, account, amount: microUsd(50n), lease, atMs }
}

const linesOf = (input: bigint, output: bigint) =>
  [
    { sku: 'chat.input', units: input },
    { sku: 'chat.output', units: output },
  ]
    .filter(({ units }) => units > 0n)
    .map(({ sku, units }) => ({ sku, units, unitPricePicoUsd: 1_000_000n, amount: microUsd(units) }))

const captureOf = (hold: string): Op => ({
  ...{ op: 'capture', hold, request: hold, model: 'bench-chat', lines: linesOf(20n, 17n), atMs: Date.now() },
})
