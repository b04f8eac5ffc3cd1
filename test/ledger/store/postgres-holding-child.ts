/** Waits for a line on its standard input, then asks for holds, many at once, and prints how many of them it got. */
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { openStore } from '#ledger/store/open-store.ts'
import { commitOps, hold } from './sample-ops.ts'

const holds = 500
const atOnce = 25
const amount = 7n

const store = await openStore(process.env.DATABASE_URL ?? '')
writeSync(1, 'ready\n')
await once(process.stdin, 'data')
process.stdin.destroy()
let accepted = 0
for (let first = 0; first < holds; first += atOnce) {
  const asked = Array.from({ length: atOnce }, (_, index) =>
    commitOps(store, hold(`${process.pid}/${first + index}`, amount)),
  )
  accepted += (await Promise.all(asked)).filter(outcome => outcome.ok).length
}
await store.close()
writeSync(1, `${accepted}\n`)
