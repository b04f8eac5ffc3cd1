import { Campaign } from '../campaign.ts'
import type { RunEnd, RunOrder } from '../fault-run.ts'
import { rowsAsLines } from '../lines.ts'
import { table } from '../table.ts'
import { pointPlans, type Reached } from './point-plans.ts'

const toldEvery = 10

/** A kill at every point between two effects, in every flow that comes by it. */
export async function pointRun({ count, seed, folder, say, onStop }: RunOrder): Promise<RunEnd> {
  const reached: Reached = new Map()
  const onKill = (kills: number) => {
    if (kills % toldEvery === 0) say(`${kills} kills, ${reached.size} points`)
  }
  const plans = pointPlans({ times: count }, reached)
  const campaign = new Campaign({ plans, seed, folder, waitForLeases: true, onKill })
  onStop(() => campaign.end())
  const report = await campaign.run()
  for (const failure of missed(reached, count)) report.findings.fail(failure)
  return {
    isWell: report.findings.failures.length === 0,
    lines: [
      ...[...reached].map(([name, each]) => `${each.reached} of ${each.tried}`.padEnd(10) + name),
      ...rowsAsLines([['points', `${reached.size}, each to be come by ${count} times`]]),
      ...table(report),
    ],
  }
}

export const missed = (reached: Reached, times: number): string[] =>
  [...reached].flatMap(([name, each]) =>
    each.reached < times ? [`${name} was come by ${each.reached} times of ${times}, in ${each.tried} lives.`] : [],
  )
