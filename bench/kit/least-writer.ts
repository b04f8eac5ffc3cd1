/** Commits holds and captures that gather while it commits those before them. */
import { parentPort, workerData } from 'node:worker_threads'
import { BareRows, type Held } from './bare-rows.ts'

/** A row to write, with the number that identifies its answer. */
export type Order = { number: number } & ({ hold: true } | { capture: Held })
/** A hold that is durable, or null for a capture that is. */
export type Done = { number: number; held: Held | null }

/** The number of accounts that call farebox. */
const customers = 64

const rows = await BareRows.open(workerData.path, customers)
let gathered: Order[] = []

parentPort?.on('message', (orders: Order[]) => {
  if (gathered.length === 0) setImmediate(commit)
  gathered.push(...orders)
})

function commit(): void {
  const done = gathered.map(order => ({ number: order.number, held: 'hold' in order ? rows.newHold() : null }))
  const captures = gathered.flatMap(order => ('capture' in order ? [order.capture] : []))
  gathered = []
  rows.write(
    done.flatMap(({ held }) => held ?? []),
    captures,
  )
  parentPort?.postMessage(done)
}
