import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { mostCommits } from '../bounds.ts'
import { type Failure, failures } from './failing-store.ts'
import { type NthFlow, nthFlows, pay, untilJobsEnd } from './nth-flows.ts'
import { NthWorld } from './nth-world.ts'

export interface NthOptions {
  folder: string
  flows?: readonly NthFlow[]
  how?: readonly Failure[]
  onRun?: (runs: number) => void
}

export interface NthReport {
  /** By flow, the commits of one run of it: each of them failed in every way. */
  commits: Map<string, number>
  runs: number
  failures: string[]
}

/** For n from 1 until a run ends without an n-th commit: that one fails, the service is opened anew, the ledger is checked. */
export async function failEveryCommit(options: NthOptions): Promise<NthReport> {
  const report: NthReport = { commits: new Map(), runs: 0, failures: [] }
  for (const flow of options.flows ?? nthFlows) {
    for (const how of options.how ?? failures) await failEach(flow, how, options, report)
  }
  return report
}

async function failEach(flow: NthFlow, how: Failure, options: NthOptions, report: NthReport): Promise<void> {
  for (let nth = 1; nth <= mostCommits; nth++) {
    const folder = join(options.folder, `${flow.name} ${how} ${nth}`.replaceAll(' ', '-'))
    const { wasHit, wrong } = await runOnce(flow, nth, how, folder)
    report.runs++
    options.onRun?.(report.runs)
    for (const sentence of wrong) report.failures.push(`${flow.name}, commit ${nth} ${how}: ${sentence}`)
    if (!wrong.length) await rm(folder, { recursive: true, force: true })
    if (!wasHit) return void report.commits.set(flow.name, Math.max(nth - 1, report.commits.get(flow.name) ?? 0))
  }
  report.failures.push(`${flow.name} made more than ${mostCommits} commits.`)
}

async function runOnce(flow: NthFlow, nth: number, how: Failure, folder: string) {
  await mkdir(folder, { recursive: true })
  const world = new NthWorld(folder)
  await world.open()
  try {
    await world.customer()
    world.store.fail(nth, how)
    await flow.run(world)
    const wasHit = world.store.failed > 0
    await world.reopen()
    for (const payment of world.book.topUps) await pay(world, payment)
    await untilJobsEnd(world)
    return { wasHit, wrong: (await world.check()).failures }
  } finally {
    await world.close()
  }
}
