import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../../postgres/cluster.ts'
import { networkTroubleMs } from '../bounds.ts'
import { Campaign } from '../campaign.ts'
import type { RunEnd, RunOrder } from '../fault-run.ts'
import type { KillPlan, Life } from '../kill-plan.ts'
import { failuresAsLines, rowsAsLines } from '../lines.ts'
import type { Seeded } from '../seeded.ts'
import { everything, untilBusy } from '../start-load.ts'
import { table } from '../table.ts'
import { postgresLedger } from '../test-ledgers.ts'
import { ChaosProxy, type Trouble } from './chaos-proxy.ts'
import { engineTroubles } from './engine-troubles.ts'

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

/** Troubles of the network: on SQLite between the service and its engine, on PostgreSQL between it and its database. */
export async function networkRun(order: RunOrder): Promise<RunEnd> {
  return order.store === 'sqlite' ? engineRun(order) : databaseRun(order)
}

async function engineRun({ count, seed, folder }: RunOrder): Promise<RunEnd> {
  const { asked, answered, broken, troubled, failures } = await engineTroubles({ rounds: count, seed, folder })
  const rows = rowsAsLines([
    ['calls', `${asked}`],
    ['answered whole', `${answered}`],
    ['refused or broken off', `${broken}`],
    ['connections in trouble', `${troubled}`],
  ])
  const verdict = `calls ${asked}, failures ${failures.length}`
  return { isWell: failures.length === 0, lines: [...rows, ...failuresAsLines(failures), verdict] }
}

async function databaseRun({ count, seed, folder, say, onStop }: RunOrder): Promise<RunEnd> {
  const cluster = await Cluster.start()
  onStop(() => cluster.stop())
  const proxy = await ChaosProxy.to(cluster.port)
  try {
    const env = { DATABASE_URL: cluster.urlOf('farebox', 'farebox', proxy.port) }
    const plans = databaseTroubles(count, proxy)
    const onKill = (kills: number) => say(`${kills} lives`)
    const ledger = postgresLedger(cluster.url)
    const campaign = new Campaign({ plans, env, ledger, seed, folder, waitForLeases: true, onKill })
    onStop(() => campaign.end())
    const report = await campaign.run()
    const rows = rowsAsLines([['connections in trouble', `${proxy.troubled}`]])
    return { isWell: report.findings.failures.length === 0, lines: [...rows, ...table(report)] }
  } finally {
    await proxy.close()
    await cluster.stop()
  }
}
