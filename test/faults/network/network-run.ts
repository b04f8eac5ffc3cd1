import { Cluster } from '../../postgres/cluster.ts'
import { postgresBooks } from '../books.ts'
import { Campaign } from '../campaign.ts'
import type { RunEnd, RunOrder } from '../fault-run.ts'
import { failuresAsLines, rowsAsLines } from '../lines.ts'
import { table } from '../table.ts'
import { ChaosProxy } from './chaos-proxy.ts'
import { databaseTroubles } from './database-troubles.ts'
import { engineTroubles } from './engine-troubles.ts'

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
    const books = postgresBooks(cluster.url)
    const campaign = new Campaign({ plans, env, books, seed, folder, waitForLeases: true, onKill })
    onStop(() => campaign.end())
    const report = await campaign.run()
    const rows = rowsAsLines([['connections in trouble', `${proxy.troubled}`]])
    return { isWell: report.findings.failures.length === 0, lines: [...rows, ...table(report)] }
  } finally {
    await proxy.close()
    await cluster.stop()
  }
}
