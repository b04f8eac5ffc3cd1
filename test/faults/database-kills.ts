import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '../postgres/cluster.ts'
import * as bounds from './bounds.ts'
import type { KillPlan, Life } from './kill-plan.ts'
import { giveMore } from './random-kills.ts'
import { everything, untilBusy } from './start-load.ts'

/** So many kills, in turns of one service, of the database under both, and of the other service. */
export function* sharedKills(count: number, cluster: Cluster): Generator<KillPlan> {
  const turns = [serviceKill('server'), databaseKill(cluster), serviceKill('sibling')]
  for (let kill = 0; kill < count; kill++) yield turns[kill % turns.length] ?? serviceKill('server')
}

const serviceKill = (victim: 'server' | 'sibling'): KillPlan => ({
  mix: everything,
  isArmed: false,
  victim,
  async untilKill({ round, seeded }) {
    await untilBusy(round)
    giveMore(round)
    await sleep(seeded.below(bounds.killWithinMs))
  },
})

/** Services outlive their database: they answer errors while it is gone, and go on by themselves. */
const databaseKill = (cluster: Cluster): KillPlan => ({
  mix: everything,
  isArmed: true,
  mayComplain: true,
  mayFail: true,
  async untilKill({ round, seeded, server, sibling, isAnswered }: Life) {
    await untilBusy(round)
    await sleep(seeded.below(bounds.killWithinMs))
    await cluster.kill()
    await sleep(seeded.below(bounds.databaseAwayMs))
    await cluster.run()
    for (const service of [server, sibling]) {
      if (service && !service.hasEnded && !(await isAnswered(service))) {
        round.book.surprises.push('A service did not go on after its database had come back.')
      }
    }
  },
})
