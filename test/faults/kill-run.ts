import { Cluster } from '../postgres/cluster.ts'
import { postgresBooks } from './books.ts'
import { leastRecoveredShare } from './bounds.ts'
import { Campaign, type CampaignOptions } from './campaign.ts'
import { sharedKills } from './database-kills.ts'
import type { RunEnd, RunOrder } from './fault-run.ts'
import { randomKills } from './random-kills.ts'
import { table } from './table.ts'

const toldEvery = 10

/** Random kills of the real server; on PostgreSQL of two of them, and of the database under both. */
export async function killRun(order: RunOrder): Promise<RunEnd> {
  if (order.store === 'sqlite') return run(order, { plans: randomKills(order.count) })
  const cluster = await Cluster.start()
  order.onStop(() => cluster.stop())
  try {
    const env = { DATABASE_URL: cluster.url }
    const plans = sharedKills(order.count, cluster)
    return await run(order, { plans, env, books: postgresBooks(cluster.url), hasSibling: true })
  } finally {
    await cluster.stop()
  }
}

async function run(
  { count, seed, folder, say, onStop }: RunOrder,
  options: Pick<CampaignOptions, 'plans' | 'env' | 'books' | 'hasSibling'>,
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
