import { Campaign } from './campaign.ts'
import type { RunEnd, RunOrder } from './fault-run.ts'
import { randomKills } from './random-kills.ts'
import { table } from './table.ts'

const toldEvery = 10

/** Random kills of the real server. */
export async function killRun({ count, seed, folder, say, onStop }: RunOrder): Promise<RunEnd> {
  const onKill = (kills: number) => {
    if (kills % toldEvery === 0 || kills === count) say(`${kills} kills`)
  }
  const campaign = new Campaign({ plans: randomKills(count), seed, folder, waitForLeases: true, onKill })
  onStop(() => campaign.end())
  const report = await campaign.run()
  return { isWell: report.findings.failures.length === 0, lines: table(report) }
}
