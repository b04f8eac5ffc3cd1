/** Leaves so many holds open, half of them with a checkpoint of what they owe, says so, and waits to be killed. */
import { microUsd } from '#contract/money.ts'
import { openStore } from '#ledger/store/open-store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'

const [, , database = '', holds = '0'] = process.argv
const atOnce = 500
const amount = microUsd(1_000n)
const owedUsd = microUsd(7n)

const store = await openStore(database)
const account = 'customer'
await commit([
  { op: 'account', account, kind: 'customer', atMs: Date.now() },
  { op: 'credit', account, amount: microUsd(10n ** 12n), source: 'system:grant', ref: 'grant', atMs: Date.now() },
])
for (let made = 0; made < Number(holds); made += atOnce) {
  await store.commit(
    Array.from({ length: Math.min(atOnce, Number(holds) - made) }, (_, index) => holdUnit(made + index)),
  )
}
process.stdout.write('held\n')
setInterval(() => undefined, 60_000)

function holdUnit(index: number): Unit {
  const hold = uuidV7(Date.now())
  // Past already, so that a start on a database of several services has to end them all as well.
  const lease = { owner: 'a process that was killed', untilMs: Date.now() - 1 }
  const ops: Op[] = [{ op: 'hold', hold, account, amount, lease, atMs: Date.now() }]
  if (index % 2) {
    const line = { sku: 'chat.output', units: 7n, unitPricePicoUsd: 1_000_000n, amount: owedUsd }
    ops.push({ op: 'renew', hold, lease, owed: { request: hold, model: 'demo-chat', lines: [line] } })
  }
  return { id: `${hold}/hold`, ops }
}

async function commit(ops: readonly Op[]): Promise<void> {
  await store.commit([{ id: uuidV7(Date.now()), ops }])
}
