import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../postgres/cluster.ts'
import * as bounds from './bounds.ts'
import { leastRecoveredShare } from './bounds.ts'
import { Campaign, type CampaignOptions } from './campaign.ts'
import type { RunEnd, RunOrder } from './fault-run.ts'
import type { KillPlan, Life } from './kill-plan.ts'
import type { Round } from './round.ts'
import { everything, untilBusy } from './start-load.ts'
import { table } from './table.ts'
import { postgresLedger } from './test-ledgers.ts'

/** So many kills at any moment, each after enough was acknowledged. */
export function* randomKills(count: number): Generator<KillPlan> {
  for (let kill = 0; kill < count; kill++) yield randomKill
}

/** So that the kill meets some of each under way. */
export function giveMore({ budget }: Round): void {
  budget.payments += bounds.budgetBeforeKill.payments
  budget.solanaPayments += bounds.budgetBeforeKill.solanaPayments
  budget.videos += bounds.budgetBeforeKill.videos
}

export const randomKill: KillPlan = {
  mix: everything,
  isArmed: false,
  async untilKill({ round, seeded }) {
    await untilBusy(round)
    giveMore(round)
    await sleep(seeded.below(bounds.killWithinMs))
  },
}

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

const toldEvery = 10

/** Random kills of the real server; on PostgreSQL of two of them, and of the database under both. */
export async function killRun(order: RunOrder): Promise<RunEnd> {
  if (order.store === 'sqlite') return run(order, { plans: randomKills(order.count) })
  const cluster = await Cluster.start()
  order.onStop(() => cluster.stop())
  try {
    const env = { DATABASE_URL: cluster.url }
    const plans = sharedKills(order.count, cluster)
    return await run(order, { plans, env, ledger: postgresLedger(cluster.url), hasSibling: true })
  } finally {
    await cluster.stop()
  }
}

async function run(
  { count, seed, folder, say, onStop }: RunOrder,
  options: Pick<CampaignOptions, 'plans' | 'env' | 'ledger' | 'hasSibling'>,
): Promise<RunEnd> {
  const onKill = (kills: number) => {
    if (kills % toldEvery === 0 || kills === count) say(`${kills} kills`)
  }
  const campaign = new Campaign({ ...options, seed, folder, waitForLeases: true, onKill })
  onStop(() => campaign.end())
  const report = await campaign.run()
  const [recovered, all] = report.recovered
  if (recovered <= leastRecoveredShare * all) {
    report.findings.fail(
      `Recovery made ${recovered} of ${all} charges; more than ${100 * leastRecoveredShare} % have to be of it.`,
    )
  }
  return { isWell: report.findings.failures.length === 0, lines: table(report) }
}
