import { microUsd } from '#contract/money.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { customers } from './bounds.ts'

const leaseMs = 60_000

const accountOf = (place: number): string => `customer ${place % customers}`

/** Customers with more credit than a bench can spend. */
export async function openCustomers(store: Store): Promise<void> {
  const units = Array.from({ length: customers }, (_, place): Unit => {
    const [account, atMs] = [accountOf(place), Date.now()]
    const amount = microUsd(10n ** 12n)
    return {
      id: uuidV7(atMs),
      ops: [
        { op: 'account', account, kind: 'customer', atMs },
        { op: 'credit', account, amount, source: 'system:grant', ref: `start of ${account}`, atMs },
      ],
    }
  })
  await store.commit(units)
}

/** So many callers, each of whom holds and then captures two lines, over and over. Answers acknowledged units a second. */
export async function unitsPerSecond(store: Store, callers: number, forMs: number): Promise<number> {
  const startedAt = performance.now()
  let units = 0
  const call = async (caller: number) => {
    for (let place = caller; performance.now() - startedAt < forMs; place += callers) {
      const id = uuidV7(Date.now())
      await mustCommit(store, `${id}/hold`, holdOf(id, accountOf(place)))
      await mustCommit(store, `${id}/capture`, captureOf(id))
      units += 2
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
  return units / ((performance.now() - startedAt) / 1000)
}

async function mustCommit(store: Store, id: string, op: Op): Promise<void> {
  const [outcome] = await store.commit([{ id, ops: [op] }])
  if (!outcome?.ok) throw new Error(`A unit of the bench was refused: ${outcome?.why}.`)
}

function holdOf(hold: string, account: string): Op {
  const atMs = Date.now()
  return { op: 'hold', hold, account, amount: microUsd(50n), lease: { owner: 'bench', untilMs: atMs + leaseMs }, atMs }
}

function captureOf(hold: string): Op {
  const line = (sku: string, units: bigint) => ({ sku, units, unitPricePicoUsd: 1_000_000n, amount: microUsd(units) })
  const lines = [line('input', 20n), line('output', 17n)]
  return { op: 'capture', hold, request: hold, model: 'demo-chat', lines, atMs: Date.now() }
}
