import { dirname, resolve } from 'node:path'
import { lineLog, silentLog, writtenPerTurn } from '#host/log.ts'
import { CliError, type Command, integerFlag, parseArguments, whenAborted, wrongUsage, wrongValue } from '../command.ts'
import { configPath, type DataFolder, dataFolder } from '../data/data-folder.ts'
import { isServing, noAnswer, noServiceIn, runningService, ServiceGone } from '../data/service-admin.ts'
import { checkWhole, configFacts, loadVersion, orTellFaults, sayConfig } from '../serve/config.ts'
import { type Serving, startServing } from '../serve/start-serving.ts'
import {
  joinWorkers,
  mostWorkers,
  requireForWorkers,
  superviseWorkers,
  workerLog,
  workerPartOf,
} from '../serve/workers.ts'

const name = 'farebox serve'

const usage = `Usage: farebox serve [--config FILE] [--check [--json] | --reload] [--workers N] [--log-level LEVEL]

Serves the API for the models of a configuration. Prints \`ready URL\` when it accepts requests, and logs to stderr, one
JSON object per line.

  --config FILE      the configuration (FAREBOX_CONFIG, or ./farebox.yaml); \`farebox init\` writes one
  --check            validate the configuration and exit
  --reload           validate the configuration, tell the running service to reload it, and exit
  --json             with --check: print what would be served as one line of JSON
  --workers N        number of processes that share the port; more than one needs a ledger in PostgreSQL
  --log-level LEVEL  error, warn or info; the default is in the configuration

SIGTERM and Ctrl-C stop the service; requests in flight get up to a minute to finish. A second signal stops it
immediately. SIGHUP, which \`--reload\` sends (not on Windows), reloads models, prices, deprecations, upstreams and their
keys, plan, limits and the system prompt. Other changes need a restart. An invalid file changes nothing. See
docs/operations/run.md.`

const levels = ['error', 'warn', 'info'] as const
type Level = (typeof levels)[number]

export const serve: Command = {
  usage,
  async run(args, io) {
    const { values } = parseArguments(args, {
      command: name,
      options: {
        config: { type: 'string' },
        check: { type: 'boolean', default: false },
        reload: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        workers: { type: 'string' },
        'log-level': { type: 'string' },
      },
    })
    if (values.json && !values.check) throw wrongUsage(name, '`--json` needs `--check`')
    const asked = levelOf(values['log-level'])
    const count = integerFlag(name, 'workers', values.workers, 1, mostWorkers) ?? 1
    const path = configPath(values.config, io.env)
    const { config, version } = await orTellFaults(path, io.output, () => loadVersion(path, io.env))
    const folder = dataFolder(resolve(dirname(path), config.file.data))
    if (values.check) {
      await orTellFaults(path, io.output, () => checkWhole(config))
      if (count > 1) await requireForWorkers(config.file, folder, io.env, silentLog)
      if (values.json) io.output.printJson(configFacts(config.file))
      else for (const line of await sayConfig(config.file, io.output)) io.output.print(line)
      return 0
    }
    if (values.reload) {
      await orTellFaults(path, io.output, () => checkWhole(config))
      io.output.print(await reloadService(folder))
      return 0
    }
    const hidden = new Set(config.secrets)
    const hide = (secrets: ReadonlySet<string>) => {
      for (const secret of secrets) hidden.add(secret)
    }
    const level = asked ?? config.file.logLevel
    const lines = writtenPerTurn(text => io.output.note(text))
    process.once('exit', lines.flush)
    const plainLog = lineLog(lines.line, { level, hidden: () => hidden })
    const stopped = io.untilStopped()
    const worker = workerPartOf(io.env)
    if (count > 1 && !worker) {
      await requireForWorkers(config.file, folder, io.env, plainLog)
      const onReady = ({ baseUrl }: { baseUrl: string }) => {
        io.output.print(`ready ${baseUrl}`)
        plainLog.info({ workers: count, pid: process.pid }, 'All workers are ready.')
      }
      return superviseWorkers({ count, folder, log: plainLog, stopped, onReady })
    }
    const log = worker ? workerLog(plainLog, worker.number) : plainLog
    const starting = () => startServing({ path, config, version, env: io.env, log, hide, worker })
    const { serving, stopReloads } = await startReloadable(() => orTellFaults(path, io.output, starting))
    let leave = () => {}
    try {
      if (worker) leave = await joinWorkers({ baseUrl: serving.baseUrl, url: serving.url })
      else io.output.print(`ready ${serving.baseUrl}`)
      log.info({ models: serving.models, pid: process.pid }, 'The service is ready.')
      await whenAborted(stopped)
      log.info({}, 'No more requests are accepted; waiting for running ones to finish.')
    } finally {
      stopReloads()
      await serving.close()
      leave()
    }
    log.info({}, 'Stopped.')
    return 0
  },
}

/** A signal to reload waits while the service starts: without a handler, it would end the process. */
async function startReloadable(start: () => Promise<Serving>): Promise<{ serving: Serving; stopReloads: () => void }> {
  const started = start()
  const stopReloads = onReloadSignal(() =>
    started.then(
      serving => serving.reload(),
      () => undefined,
    ),
  )
  try {
    return { serving: await started, stopReloads }
  } catch (error) {
    stopReloads()
    throw error
  }
}

/** Sends the signal that an operator would send. The service validates the file again, with its own environment. */
async function reloadService(folder: DataFolder, platform: string = process.platform): Promise<string> {
  const running = await runningService(folder)
  if (!running) throw noServiceIn(folder)
  if (platform === 'win32')
    throw new CliError('Windows has no signal to reload a service.', 'Change prices in the console, or start it again.')
  if (!(await isServing(running))) throw new ServiceGone(...noAnswer)
  process.kill(running.pid, 'SIGHUP')
  return 'The configuration is valid here, and the service was told to load it. Its log reports the result, and which changes need a restart.'
}

function levelOf(text: string | undefined): Level | undefined {
  if (text === undefined) return undefined
  const level = levels.find(each => each === text)
  if (level) return level
  throw wrongValue(name, 'log-level', text, `one of ${levels.join(', ')}`)
}

/**
 * Runs at each SIGHUP, one after the other, until the returned function is called. On Windows, SIGHUP means that the
 * console was closed.
 */
export function onReloadSignal(run: () => Promise<void>, platform: string = process.platform): () => void {
  if (platform === 'win32') return () => {}
  let last = Promise.resolve()
  const reload = () => {
    last = last.then(run)
  }
  process.on('SIGHUP', reload)
  return () => void process.off('SIGHUP', reload)
}
