import { setTimeout as sleep } from 'node:timers/promises'
import { networkTroubleMs } from '../bounds.ts'
import type { KillPlan, Life } from '../kill-plan.ts'
import type { Seeded } from '../seeded.ts'
import { everything, untilBusy } from '../start-load.ts'
import type { ChaosProxy, Trouble } from './chaos-proxy.ts'

/** Lives of the server, each with a trouble of the network between it and its database; then it is killed. */
export function* databaseTroubles(count: number, proxy: ChaosProxy): Generator<KillPlan> {
  for (let life = 0; life < count; life++) yield { ...base, untilKill: each => troubled(each, proxy) }
}

const base = { mix: everything, isArmed: true, mayFail: true, mayComplain: true }

const troubles: ((draws: Seeded) => Trouble)[] = [
  draws => ({ kind: 'latency', ms: 20 + draws.below(200) }),
  draws => ({ kind: 'cut', afterBytes: 500 + draws.below(20_000) }),
  () => ({ kind: 'black hole' }),
  () => ({ kind: 'refused' }),
]

async function troubled({ round, seeded, server, isAnswered }: Life, proxy: ChaosProxy): Promise<void> {
  await untilBusy(round)
  for (const draw of [seeded.pick(troubles), seeded.pick(troubles)]) {
    proxy.trouble = draw?.(seeded) ?? { kind: 'none' }
    // Connections last, so those that are there have to go for the trouble to be met.
    proxy.cutAll()
    await sleep(networkTroubleMs)
  }
  proxy.trouble = { kind: 'none' }
  proxy.cutAll()
  if (!(await isAnswered(server)))
    round.book.surprises.push('The server did not go on after the network was well again.')
}
