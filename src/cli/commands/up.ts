import { inShell } from '#agent/words/typed-commands.ts'
import { lineLog } from '#host/log.ts'
import {
  CliError,
  type Command,
  type CommandIo,
  integerFlag,
  parseArguments,
  whenAborted,
  wrongUsage,
} from '../command.ts'
import { dataFolder, defaultDataFolder } from '../data/data-folder.ts'
import { ledgerPlaceOf, noteLedgerPlace, requireNoLedgerHere } from '../data/ledger-place.ts'
import { folderFailure, isServing, runningService } from '../data/service-admin.ts'
import { type Report, reportAsJson, reportInWords, sayServing } from '../up/events.ts'
import type { ClientToInstall } from '../up/install-client.ts'
import type { JourneyEnd } from '../up/journey.ts'
import type { LocalService } from '../up/local-service.ts'

const name = 'farebox up'

const usage = `Usage: farebox up [--once] [--no-journey] [--port N] [--host ADDRESS] [--data DIR] [--json] [--token-name NAME]
                  [--no-local-models] [--install CLIENT [--yes]]

Starts local chains, the service with demonstration models and a wallet with test money. An assistant then runs a
short demo over MCP and pays for it. The service runs until you stop it. Nothing leaves this machine, and no real money
is involved.

  --install CLIENT   also add farebox to your MCP client, with a wallet that holds 10 USD of test money; it shows the
                     change and asks first. \`farebox install\` lists the clients
  --yes              do not ask before changing the client's configuration
  --once             exit after the demo: 0 for success, 1 if a step failed
  --no-journey       skip the demo
  --port N           port (8402); 0 lets the system choose
  --host ADDRESS     address to listen on (127.0.0.1)
  --data DIR         data folder (${defaultDataFolder}); later starts continue with its contents
  --json             print one JSON event per line
  --no-local-models  do not offer models of servers found on this machine
  --token-name NAME  the local token's EIP-712 name, for clients that have one built in

The test wallet's key is in DIR/chain/keys.json, its budget and journal are in DIR/agent, and saved files in DIR/output.
The ledger is in the folder, or in PostgreSQL if DATABASE_URL is set (postgres://user:password@host:5432/name).`

const defaultPort = 8402

export const up: Command = {
  usage,
  async run(args, io) {
    const { values } = parseArguments(args, {
      command: name,
      options: {
        once: { type: 'boolean', default: false },
        'no-journey': { type: 'boolean', default: false },
        port: { type: 'string' },
        host: { type: 'string', default: '127.0.0.1' },
        data: { type: 'string', default: defaultDataFolder },
        json: { type: 'boolean', default: false },
        'token-name': { type: 'string' },
        'no-local-models': { type: 'boolean', default: false },
        install: { type: 'string' },
        yes: { type: 'boolean', default: false },
      },
    })
    if (values.install !== undefined && values.once)
      throw wrongUsage(name, '`--install` needs a service that keeps running; leave out `--once`')
    if (values.yes && values.install === undefined) throw wrongUsage(name, '`--yes` needs `--install`')
    const port = integerFlag(name, 'port', values.port, 0, 65_535) ?? defaultPort
    const tokenName = values['token-name']
    const stopped = io.untilStopped()
    const report = values.json ? reportAsJson(io.output) : await reportInWords(io.output)
    await requirePackages()
    const wanted = await toInstall(values, io)
    if (wanted !== null) await requireFolderFree(values.data, wanted.client.name)
    const findsModels = !values['no-local-models']
    const service = await start({ port, host: values.host, data: values.data, tokenName, findsModels, stopped }, io)
    try {
      const { baseUrl, evmRpcUrl, solana } = service
      const withoutSolana = solana.rpcUrl === null ? { withoutSolana: solana.problem } : {}
      const rails = { evmRpcUrl, solanaRpcUrl: solana.rpcUrl, ...withoutSolana }
      report({ event: 'ready', baseUrl, ...rails, dataDir: dataFolder(values.data).root })
      const isAdded = wanted !== null && (await addTo(wanted, service, values.data, report, io))
      const end = values['no-journey'] ? 'succeeded' : await journey(service, values.data, report, stopped, io)
      if (values.once) return end === 'succeeded' ? 0 : 1
      if (!values.json && !stopped.aborted) {
        const installedIn = isAdded ? wanted.client.title : null
        for (const line of await sayServing(service, dataFolder(values.data), io.output, installedIn))
          io.output.print(line)
      }
      await whenAborted(stopped)
      return 0
    } finally {
      await service.close()
      if (stopped.aborted && !values.json) io.output.print('Stopped.')
    }
  },
}

interface Asked {
  install?: string | undefined
  yes: boolean
  json: boolean
}

async function toInstall({ install, ...how }: Asked, io: CommandIo): Promise<ClientToInstall | null> {
  if (install === undefined) return null
  const { clientToInstall } = await import('../up/install-client.ts')
  return clientToInstall(name, { install, ...how }, io)
}

/** A running service needs no second start: `install --local` adds the client to it. */
async function requireFolderFree(data: string, client: string): Promise<void> {
  const folder = dataFolder(data)
  const running = await runningService(folder)
  if (running === null || !(await isServing(running))) return
  throw new CliError(
    `farebox already serves the folder ${folder.root} at ${running.url} (process ${running.pid}).`,
    `Run \`farebox install ${client} --local ${inShell(folder.root)}\` to add ${client} to that service.`,
  )
}

async function addTo(wanted: ClientToInstall, service: LocalService, data: string, report: Report, io: CommandIo) {
  const { installClient } = await import('../up/install-client.ts')
  const changed = await installClient(wanted, service, dataFolder(data), io)
  if (changed && wanted.isJson) report({ event: 'installed', ...changed })
  return changed !== null
}

/**
 * Checked before anything starts, because without an encoder a video would fail only later. A clone has these packages
 * after `npm ci`, but the installed package does not, so the error names all of them at once, with those that add a
 * local Solana chain and image formats.
 */
async function requirePackages(): Promise<void> {
  const [{ FfmpegMissing, videoEncoders }, { requireFfmpeg }, { isAnvilInstalled }] = await Promise.all([
    import('#host/media/ffmpeg.ts'),
    import('#host/media/media-workers.ts'),
    import('#local/evm/anvil.ts'),
  ])
  const missing = isAnvilInstalled() ? [] : ['@foundry-rs/anvil']
  try {
    await requireFfmpeg(videoEncoders)
  } catch (error) {
    if (!(error instanceof FfmpegMissing)) throw error
    if (error.isInstalled) throw new CliError(error.problem, error.nextStep)
    missing.push('node-av')
  }
  if (missing.length === 0) return
  const { isInstalled } = await import('#host/packages.ts')
  const useful = ['litesvm', 'sharp'].filter(each => !isInstalled(each))
  throw new CliError(
    `\`${name}\` needs ${missing.join(' and ')}, which ${missing.length === 1 ? 'is' : 'are'} not installed.`,
    `Run \`npm install --ignore-scripts ${[...missing, ...useful].join(' ')}\`, then start it again.`,
  )
}

async function start(
  options: {
    port: number
    host: string
    data: string
    tokenName: string | undefined
    findsModels: boolean
    stopped: AbortSignal
  },
  io: CommandIo,
): Promise<LocalService> {
  const [{ startLocalService }, { LocalChainError }] = await Promise.all([
    import('../up/local-service.ts'),
    import('#local/chain/folder.ts'),
  ])
  const { tokenName, data, ...where } = options
  // Only from the environment, because its address may contain a password.
  const database = io.env.DATABASE_URL
  const ledger = await ledgerPlaceOf(data, io.env)
  if (ledger.database.engine === 'postgres') await requireNoLedgerHere(ledger.folder)
  try {
    const service = await startLocalService({
      ...where,
      folder: dataFolder(data),
      env: io.env,
      log: lineLog(line => io.output.note(line)),
      ...(tokenName === undefined ? {} : { tokenName }),
      ...(database ? { database } : {}),
    })
    await noteLedgerPlace(ledger.folder, ledger.database)
    return service
  } catch (error) {
    if (error instanceof LocalChainError) throw new CliError(error.message, 'Then start again.')
    throw await folderFailure(error, dataFolder(data))
  }
}

async function journey(
  service: LocalService,
  data: string,
  report: Report,
  stopped: AbortSignal,
  io: CommandIo,
): Promise<JourneyEnd> {
  const { runJourney } = await import('../up/journey.ts')
  const end = await runJourney({ service, folder: dataFolder(data), report, self: io.self, signal: stopped })
  if (end !== 'stopped') report({ event: 'done', ok: end === 'succeeded' })
  return end
}
