import { lineLog } from '#host/log.ts'
import { type Command, parseArguments, whenAborted, wrongUsage } from '../command.ts'
import { configPath } from '../data/data-folder.ts'
import { loadConfig, orTellFaults, sayConfig } from '../serve/config.ts'
import { startServing } from '../serve/start-serving.ts'

const name = 'farebox serve'

const usage = `Usage: farebox serve [--config FILE] [--check] [--log-level LEVEL]

Serves the API for the models of a configuration. Prints \`ready URL\` once it serves. Logs to stderr, one line of JSON each.

  --config FILE      the configuration (FAREBOX_CONFIG, or ./farebox.yaml); \`farebox init\` writes one
  --check            validate the configuration and exit
  --log-level LEVEL  error, warn or info; the default is in the configuration

SIGTERM and Ctrl-C stop the service: running requests may finish, for a minute at most. A second one stops it at once.
SIGHUP reloads models, prices, deprecations, upstreams and their keys, plan, limits and the system prompt. Other changes
need a restart. An invalid file changes nothing.
See docs/operations/run.md.`

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
        'log-level': { type: 'string' },
      },
    })
    const asked = levelOf(values['log-level'])
    const path = configPath(values.config, io.env)
    const config = await orTellFaults(path, io.output, () => loadConfig(path, io.env))
    if (values.check) {
      await orTellFaults(path, io.output, () => checkWhole(config))
      for (const line of sayConfig(config.file)) io.output.print(line)
      return 0
    }
    const hidden = new Set(config.secrets)
    const hide = (secrets: ReadonlySet<string>) => {
      for (const secret of secrets) hidden.add(secret)
    }
    const log = lineLog(line => io.output.note(line), { level: asked ?? config.file.logLevel, hidden: () => hidden })
    const stopped = io.untilStopped()
    const serving = await orTellFaults(path, io.output, () => startServing({ path, config, env: io.env, log, hide }))
    const stopReloads = onReloadSignal(() => serving.reload())
    try {
      io.output.print(`ready ${serving.baseUrl}`)
      log.info({ models: serving.models, pid: process.pid }, 'The service is ready.')
      await whenAborted(stopped)
      log.info({}, 'No more requests are taken; running ones end.')
    } finally {
      stopReloads()
      await serving.close()
    }
    log.info({}, 'Stopped.')
    return 0
  },
}

function levelOf(text: string | undefined): Level | undefined {
  if (text === undefined) return undefined
  const level = levels.find(each => each === text)
  if (level) return level
  throw wrongUsage(name, `\`--log-level\` takes ${levels.join(', ')}`)
}

/** Makes every engine and reads every key, without asking anything of anybody. */
async function checkWhole(config: Awaited<ReturnType<typeof loadConfig>>): Promise<void> {
  const nothing = () => undefined
  const log = { info: nothing, warn: nothing, error: nothing }
  config.openModels({ folder: '.', log, keep: (_, make) => make() })
  config.checkPayments()
}

/** Runs at each SIGHUP, one after the other, until the result is called; systems without that signal have no reload. */
export function onReloadSignal(run: () => Promise<void>): () => void {
  let last = Promise.resolve()
  const reload = () => {
    last = last.then(run)
  }
  process.on('SIGHUP', reload)
  return () => void process.off('SIGHUP', reload)
}
