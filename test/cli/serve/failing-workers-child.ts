/**
 * Supervises two workers, of which the second serves once and then ends before it serves each time. Says what was logged and
 * when, one line of JSON each. A second argument is a working folder in which no new process can start.
 */
import cluster from 'node:cluster'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CliError } from '#cli/command.ts'
import { dataFolder } from '#cli/data/data-folder.ts'
import { joinWorkers, superviseWorkers, workerPartOf } from '#cli/serve/workers.ts'

const [folder = '', unusable] = process.argv.slice(2)
const say = (what: string, facts: object = {}) =>
  void process.stdout.write(`${JSON.stringify({ what, atMs: Date.now(), ...facts })}\n`)

const worker = workerPartOf(process.env)
if (worker) await serve(worker.number)
else await supervise()

async function serve(number: number): Promise<void> {
  const mark = join(folder, `served-${number}`)
  if (existsSync(mark)) {
    say('failed start')
    process.exit(1)
  }
  writeFileSync(mark, '')
  process.once('SIGTERM', () => {
    say('stopped in order')
    process.exit(0)
  })
  process.on('SIGHUP', () => say('reloaded', { number }))
  if (number === 2) {
    say('starting')
    await sleep(300)
  }
  await joinWorkers({ baseUrl: 'http://127.0.0.1:1/api/v1', url: 'http://127.0.0.1:1' })
  // Later, or its message would be lost with it.
  if (number === 2) setTimeout(() => process.exit(1), 200)
}

async function supervise(): Promise<void> {
  cluster.setupPrimary({ exec: import.meta.filename, args: [folder] })
  const log = (facts: object, message: string) => say(message, facts)
  const pace = { firstMs: 100, mostMs: 400, attempts: 4, steadyMs: 30_000 }
  const stopped = new AbortController().signal
  const onReady = () => {
    say('ready')
    if (unusable !== undefined) cluster.setupPrimary({ cwd: unusable })
  }
  try {
    const around = { folder: dataFolder(folder), log: { info: log, warn: log, error: log }, stopped }
    process.exitCode = await superviseWorkers({ count: 2, ...around, onReady, pace })
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    say(error.message)
    process.exitCode = 1
  }
}
