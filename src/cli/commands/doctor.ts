import { dirname, resolve } from 'node:path'
import type { Config } from '#service/config/read-config.ts'
import { CliError, type Command, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { configPath, dataFolder, defaultDataFolder } from '../data/data-folder.ts'
import { broken, type Finding, findingLines, note, ok } from '../doctor/finding.ts'
import { checkWhole, faultsOf, loadConfig, proxyAdvice } from '../serve/config.ts'
import { dataFlag, withDataFlag } from '../wallet/owner-wallet.ts'
import { givenPassphrase, passphraseFlags } from '../wallet/terminal.ts'

const name = 'farebox doctor'

const usage = `Usage: farebox doctor [--config FILE] [--data DIR] [--json]
       farebox doctor --assistant [--data DIR] [--passphrase-file FILE | --passphrase-fd N] [--json]

Checks everything that a service on this machine needs, and prints what works and how to fix the rest: Node, the
configuration, the ledger (readable, audited, up to date), nodes, gas and facilitators, model servers, where media are
stored, ffmpeg and packages, the port, the clock, and folder permissions. If FAREBOX_BASE_URL or FAREBOX_API_KEY is set,
it also checks what an assistant needs (with --assistant, only that): its settings as \`farebox mcp\` would read them from
this terminal, who pays, each cap and its source, its tools and folders, and whether the service answers, accepts the
key and agrees on the time. Changes nothing and shows no secrets. Exits with 1 if something is broken.

  --config FILE  the configuration (FAREBOX_CONFIG, or ./farebox.yaml)
  --data DIR     the service's folder; by default the one in the configuration, or ${defaultDataFolder} beside it
  --assistant    check only what an assistant needs; --data is then the wallet's folder (FAREBOX_DATA, or ~/.farebox)
  --passphrase-file FILE, --passphrase-fd N  check that this passphrase unlocks the wallet
  --json         print one JSON object per finding: check, state (ok, note, broken), says, next`

export const doctor: Command = {
  usage,
  async run(args, io) {
    const { values } = parseArguments(args, {
      command: name,
      options: {
        config: { type: 'string' },
        assistant: { type: 'boolean', default: false },
        ...dataFlag,
        ...passphraseFlags,
        json: { type: 'boolean', default: false },
      },
    })
    if (values.assistant) {
      if (values.config !== undefined) throw wrongUsage(name, '`--config` applies to a service, not to an assistant')
      const env = withDataFlag(io.env, values.data)
      const found = [runtime(), ...(await ofAssistant(env, await givenPassphrase(name, values, io.env)))]
      return tellFindings(found, values.json, { ...io, env })
    }
    if (values['passphrase-file'] !== undefined || values['passphrase-fd'] !== undefined)
      throw wrongUsage(name, 'A passphrase is used only with `--assistant`')
    const path = configPath(values.config, io.env)
    const isNamed = values.config !== undefined || Boolean(io.env.FAREBOX_CONFIG)
    const { config, findings } = await checkConfig(path, isNamed, io)
    const rest = [checkRest(path, config, values.data, io), whereAssistant(io.env)] as const
    const found = [runtime(), ...findings, ...(await Promise.all(rest)).flat()]
    return tellFindings(found, values.json, io)
  },
}

async function tellFindings(found: readonly Finding[], isJson: boolean, { output, env }: CommandIo): Promise<number> {
  const [{ asTyped }, { dataFolderOf }] = await Promise.all([
    import('#agent/words/typed-commands.ts'),
    import('#agent/settings/wallet-settings.ts'),
  ])
  const place = { folder: dataFolderOf(env), isJournalShared: false }
  const typed = found.map(each => (each.next === undefined ? each : { ...each, next: asTyped(each.next, place) }))
  if (isJson) for (const finding of typed) output.printJson(finding)
  else for (const line of await findingLines(typed, output)) output.print(line)
  const count = found.filter(({ state }) => state === 'broken').length
  if (count && !isJson) output.note(count === 1 ? 'There is one problem.' : `There are ${count} problems.`)
  return count ? 1 : 0
}

/** A user who only runs a service gets no findings about an assistant. */
async function whereAssistant(env: CommandIo['env']): Promise<readonly Finding[]> {
  if (!env.FAREBOX_BASE_URL?.trim() && !env.FAREBOX_API_KEY?.trim()) return []
  const { checkAssistant } = await import('../doctor/check-assistant.ts')
  return checkAssistant(env, { passphrase: null })
}

async function ofAssistant(env: CommandIo['env'], passphrase: string | null): Promise<readonly Finding[]> {
  const [{ checkAssistant }, { checkWalletFolder }, { dataFolderOf }] = await Promise.all([
    import('../doctor/check-assistant.ts'),
    import('../doctor/check-machine.ts'),
    import('#agent/settings/wallet-settings.ts'),
  ])
  const isThere = await checkWalletFolder(dataFolderOf(env))
  return [...(await checkAssistant(env, { passphrase })), ...isThere.filter(({ state }) => state !== 'note')]
}

const runtime = (): Finding => ok('node', `${process.versions.node} on ${process.platform} ${process.arch}.`)

async function checkConfig(path: string, isNamed: boolean, { env }: CommandIo) {
  try {
    const config = await loadConfig(path, env)
    await checkWhole(config)
    const { models } = config.file
    const proxies = proxyAdvice(config.file)
    return {
      config,
      findings: [
        ok('configuration', `${path} is valid, with ${models.length === 1 ? 'one model' : `${models.length} models`}.`),
        ...(proxies
          ? [{ check: 'proxies', state: proxies.next ? ('note' as const) : ('ok' as const), ...proxies }]
          : []),
      ],
    }
  } catch (error) {
    return { config: null, findings: await faultsIn(path, isNamed, error) }
  }
}

async function faultsIn(path: string, isNamed: boolean, error: unknown): Promise<Finding[]> {
  const check = 'configuration'
  const faults = faultsOf(error)
  if (faults) {
    const { faultLine } = await import('#service/config/config-values.ts')
    return faults.map(fault => broken(check, faultLine(path, fault), 'Fix it.'))
  }
  if (!(error instanceof CliError)) throw error
  const isAbsent = error.message === `${path} does not exist.` && !isNamed
  return [(isAbsent ? note : broken)(check, error.message, error.nextStep)]
}

/** Everything that works even if the configuration is invalid. */
async function checkRest(
  path: string,
  config: Config | null,
  data: string | undefined,
  { env }: CommandIo,
): Promise<Finding[]> {
  const [{ checkLedger }, { checkData, checkExecutables, checkPort, checkWalletFolder }, { dataFolderOf }] =
    await Promise.all([
      import('../doctor/check-ledger.ts'),
      import('../doctor/check-machine.ts'),
      import('#agent/settings/wallet-settings.ts'),
    ])
  const file = config?.file ?? null
  const folder = dataFolder(data ?? resolve(dirname(path), file?.data ?? defaultDataFolder))
  const database = file?.database ?? env.DATABASE_URL
  const found = await Promise.all([
    checkData(folder),
    checkLedger(folder.root, { ...env, DATABASE_URL: database }),
    ...(file ? [checkPort(file.listen, folder), ...(await checkServers(path, config as Config))] : []),
    checkExecutables(file),
    checkWalletFolder(dataFolderOf(env)),
  ])
  return found.flat()
}

async function checkServers(path: string, { file }: Config): Promise<Promise<Finding[]>[]> {
  const { checkEngines, checkPayments } = await import('../doctor/check-servers.ts')
  return [checkEngines(file), checkPayments(file.payments), checkMediaOf(path, file.media)]
}

/** Without this setting media are in the data folder, which has its own check. */
async function checkMediaOf(path: string, media: Config['file']['media']): Promise<Finding[]> {
  if (!media) return []
  const [{ mediaOptions }, { checkMedia }] = await Promise.all([
    import('#service/config/media-config.ts'),
    import('../doctor/check-media.ts'),
  ])
  const options = mediaOptions(media, folder => resolve(dirname(path), folder))
  return options ? checkMedia(options) : []
}
