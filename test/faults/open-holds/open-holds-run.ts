import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from '../../postgres/cluster.ts'
import { readyGoalMs, recoveryMs } from '../bounds.ts'
import type { RunEnd, RunOrder } from '../fault-run.ts'
import { failuresAsLines, rowsAsLines } from '../lines.ts'
import { postgresLedger, sqliteLedger, type TestLedger } from '../test-ledgers.ts'

/** A kill that leaves many holds open, and how long the next start takes until it answers; all of them end. */
export async function openHoldsRun({ count, store, folder, onStop }: RunOrder): Promise<RunEnd> {
  await mkdir(folder, { recursive: true })
  const path = join(folder, 'farebox.db')
  if (store === 'sqlite') return run(count, readyGoalMs.sqlite, folder, `sqlite:${path}`, sqliteLedger(path))
  const cluster = await Cluster.start()
  onStop(() => cluster.stop())
  try {
    return await run(count, readyGoalMs.postgres, folder, cluster.url, postgresLedger(cluster.url))
  } finally {
    await cluster.stop()
  }
}

async function run(
  holds: number,
  goalMs: number,
  folder: string,
  database: string,
  ledger: TestLedger,
): Promise<RunEnd> {
  const { left, failures, before, ...after } = await startOnOpenHolds(holds, folder, database, ledger)
  if (after.readyMs > goalMs) failures.push(`Ready after ${Math.round(after.readyMs)} ms; the goal is ${goalMs}.`)
  const lines = rowsAsLines([
    ['open holds', `${left}, half of them with a checkpoint`],
    ['opened and answering', `${Math.round(after.readyMs)} ms, of processors ${Math.round(after.cpuMs)} ms`],
    ['since its process began', `${Math.round(after.sinceSpawnMs)} ms`],
    ['the same without open holds', `${Math.round(before.readyMs)} ms, ${Math.round(before.sinceSpawnMs)} ms`],
  ])
  return {
    isWell: failures.length === 0,
    lines: [...lines, ...failuresAsLines(failures), `failures ${failures.length}`],
  }
}

export interface StartOnOpenHolds extends Start {
  /** The start of the service that was killed. */
  before: Start
  /** Holds that the kill left. */
  left: number
  failures: string[]
}

/** Leaves the holds, starts on them, and looks at what became of each. */
export async function startOnOpenHolds(
  holds: number,
  folder: string,
  database: string,
  ledger: TestLedger,
): Promise<StartOnOpenHolds> {
  // The killed service had been started as well, which leaves compiled code behind and new ledger.
  await start(folder, database)
  const before = await start(folder, database)
  await leaveHolds(database, holds)
  const left = (await ledger.read()).holds.length
  const started = await start(folder, database, () => untilNone(ledger))
  const rows = await ledger.read()
  const report = await ledger.audit(0)
  const failures = report.findings.map(({ sentence }) => `The audit finds: ${sentence}`)
  if (left !== holds) failures.push(`The kill left ${left} holds open, not ${holds}.`)
  if (started.status !== 200) failures.push(`The first request was answered with ${started.status}.`)
  if (rows.holds.length) failures.push(`${rows.holds.length} holds are left.`)
  const owing = Math.floor(holds / 2)
  if (rows.charges.size !== owing) failures.push(`${rows.charges.size} checkpoints were charged, not ${owing}.`)
  return { ...started, before, left, failures }
}

/** Where several services may share the ledger, the next one gives the others a moment to renew what has lapsed. */
async function untilNone(ledger: TestLedger): Promise<void> {
  const patience = AbortSignal.timeout(recoveryMs)
  while ((await ledger.read()).holds.length && !patience.aborted) await sleep(500)
}

const childPath = (name: string) => join(import.meta.dirname, name)

async function leaveHolds(database: string, holds: number): Promise<void> {
  const args = [childPath('holding-child.ts'), database, `${holds}`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'held') child.kill('SIGKILL')
  }
  await ended
}

interface Start {
  status: number
  readyMs: number
  /** Of all its threads; on a busy machine what tells more. */
  cpuMs: number
  sinceSpawnMs: number
}

/** The service goes on until `meanwhile` is over. */
async function start(folder: string, database: string, meanwhile = async () => {}): Promise<Start> {
  const args = [childPath('starting-child.ts'), folder, database]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  let said = ''
  for await (const line of createInterface({ input: child.stdout })) {
    said = line
    await meanwhile()
    child.stdin.end()
  }
  await ended
  if (!said) throw new Error('The service did not start on what the kill had left.')
  return JSON.parse(said) as Start
}
