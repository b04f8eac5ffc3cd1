import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { addressProblem, amounts, isAgentVariable, readSettings } from '#agent/settings/settings.ts'
import {
  type AssistantClient,
  apiKeyPlaceholder,
  assistantClients,
  type Entry,
  type StartCommand,
} from '../assistants/clients.ts'
import { hasProgram, type Machine } from '../assistants/machine.ts'
import { clientNamed } from '../assistants/print-config.ts'
import { serviceIn, startCommand } from '../assistants/start-command.ts'
import { CliError, type Command, type CommandIo, parseArguments, wrongUsage } from '../command.ts'
import { asJson } from '../output.ts'

const name = 'farebox install'

const usage = `Usage: farebox install [--json]
       farebox install CLIENT [--service URL] [--data DIR] [--tools NAMES] [--passphrase-file FILE] [--api-key]
                       [--set NAME=VALUE]... [--yes | --print] [--json]
       farebox install CLIENT --local DIR [--tools NAMES] [--yes | --print] [--json]
       farebox install CLIENT --uninstall [--yes | --print] [--json]

Adds farebox to the configuration of an MCP client, or removes it. It shows the change, asks you to confirm it, and
keeps a copy of the old file beside it. Comments and everything else in the file stay as they are. Keys and passphrases
are never written. Without CLIENT, it lists the clients and which of them are installed here.

  CLIENT                  ${wrapped(assistantClients.map(client => client.name))}
  --service URL           address of the service (FAREBOX_BASE_URL, or the one that the wallet was created for)
  --local DIR             use the service of \`farebox up\`, and a wallet with its test money; DIR is its data folder,
                          such as .farebox. If there is no such wallet yet, the first paid call offers to create one
  --data DIR              the wallet's folder (FAREBOX_DATA, or ~/.farebox)
  --tools NAMES           tools or sets to serve, as in \`farebox mcp --tools\`
  --passphrase-file FILE  file with the wallet's passphrase; not needed with the system keychain
  --api-key               pay with an API key: the client reads FAREBOX_API_KEY from its own environment, or asks for it
  --set NAME=VALUE        a setting for the server, such as FAREBOX_MAX_DAY_USD=5; not for keys
  --uninstall             remove farebox's entry and nothing else
  --yes                   do not ask
  --print                 show the change and write nothing
  --json                  print the result as one line of JSON`

export const install: Command = {
  usage,
  async run(args, io) {
    const { values, positionals } = parseArguments(args, {
      command: name,
      options: {
        service: { type: 'string' },
        local: { type: 'string' },
        data: { type: 'string' },
        tools: { type: 'string' },
        'passphrase-file': { type: 'string' },
        'api-key': { type: 'boolean', default: false },
        set: { type: 'string', multiple: true, default: [] },
        uninstall: { type: 'boolean', default: false },
        yes: { type: 'boolean', default: false },
        print: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
      maxPositionals: 1,
    })
    const machine = { platform: process.platform, env: io.env }
    const [wanted] = positionals
    if (wanted === undefined) {
      if (args.some(arg => arg !== '--json'))
        throw wrongUsage(name, 'The client is missing; `farebox install` lists the clients')
      return list(machine, values.json, io)
    }
    const client = clientNamed(name, '`farebox install`', wanted)
    if (values.json && !values.yes && !values.print)
      throw wrongUsage(name, 'With `--json`, farebox cannot ask you to confirm; add `--yes` or `--print`')
    const forEntry = ['service', 'local', 'data', 'tools', 'passphrase-file', 'api-key', 'set'] as const
    const useless = forEntry.find(flag => values.uninstall && isGiven(values[flag]))
    if (useless !== undefined) throw wrongUsage(name, `\`--uninstall\` cannot be combined with \`--${useless}\``)
    if (values.yes && values.print) throw wrongUsage(name, 'Use either `--yes` or `--print`, not both')
    if (values.tools !== undefined) await requireTools(values.tools)
    await requirePassphraseFile(values['passphrase-file'])
    const { changeConfig } = await import('../assistants/change-config.ts')
    const local = await localOf(values)
    const start = startOf(client, { ...values, ...local }, io)
    const entry: Entry | null = values.uninstall ? null : client.entry(start)
    const how = { isPrint: values.print, isSure: values.yes, isJson: values.json, withInput: values['api-key'] }
    const wallet = local.data === undefined || values.uninstall ? null : await walletIn(local.data)
    const changed = await changeConfig(client, { entry, start, machine, ...how, hasWallet: wallet !== null }, io)
    if (values.json && changed) io.output.print(asJson({ ...changed, entry }))
    else if (changed?.written && wallet !== null) await sayWalletReady(wallet, client, io)
    return changed ? 0 : 1
  },
}

/** Checked now, because a server with unknown names would refuse to start in the client. */
async function requireTools(names: string): Promise<void> {
  const [{ chooseTools }, { listing }] = await Promise.all([
    import('#mcp/listing.ts'),
    import('#mcp/listing.generated.ts'),
  ])
  try {
    chooseTools(listing, readSettings({ FAREBOX_TOOLS: names }).settings.tools)
  } catch (error) {
    throw wrongUsage(name, (error instanceof Error ? error.message : 'Unknown tool names').replace(/\.$/, ''))
  }
}

/** A server that cannot read the file would fail only once the client starts it. */
async function requirePassphraseFile(file: string | undefined): Promise<void> {
  if (file === undefined) return
  const { readPassphraseFile } = await import('../wallet/terminal.ts')
  if ((await readPassphraseFile(file, {})) !== '') return
  throw new CliError(`${file} is empty.`, 'Write the wallet’s passphrase into its first line, then try again.')
}

const isGiven = (value: string | boolean | readonly string[] | undefined): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false

function wrapped(names: readonly string[]): string {
  const half = Math.ceil(names.length / 2)
  return `one of ${names.slice(0, half).join(', ')},\n${' '.repeat(26)}${names.slice(half).join(', ')}`
}

/** The service of a running `farebox up`, and a wallet's folder next to its chains. */
async function localOf({
  local,
  service,
  data,
}: Pick<Given, 'service' | 'data'> & { local?: string | undefined }): Promise<{
  service?: string
  data?: string
}> {
  if (local === undefined) return {}
  if (service !== undefined || data !== undefined)
    throw wrongUsage(name, '`--local` sets the service and the folder; leave out `--service` and `--data`')
  const [{ dataFolder }, { runningService }] = await Promise.all([
    import('../data/data-folder.ts'),
    import('../data/service-admin.ts'),
  ])
  const folder = dataFolder(local)
  const running = await runningService(folder)
  if (!running)
    throw new CliError(`No service is running in ${folder.root}.`, 'Start it with `farebox up`, then try again.')
  return { service: `${running.url}/api/v1`, data: join(folder.root, 'assistant') }
}

/** Returns the address of the wallet that the folder already has, as after `up --install`; null without one. */
async function walletIn(folder: string): Promise<string | null> {
  const { knownAddresses } = await import('#agent/wallet/wallet-keys.ts')
  const [address = null] = await knownAddresses(folder, {})
  return address
}

async function sayWalletReady(wallet: string, { title }: AssistantClient, io: CommandIo): Promise<void> {
  const { askIt } = await import('../up/events.ts')
  io.output.print(`Its wallet is ${wallet}, which already exists.`)
  io.output.print(askIt(title))
}

interface Given {
  service?: string | undefined
  data?: string | undefined
  tools?: string | undefined
  'passphrase-file'?: string | undefined
  'api-key': boolean
  set: readonly string[]
}

/** Returns how the client should start the server. Throws wrong usage for a setting that is invalid or secret. */
function startOf(client: AssistantClient, given: Given, io: CommandIo): StartCommand {
  const wrongService = addressProblem('`--service`', given.service?.trim())
  if (wrongService !== null) throw wrongUsage(name, wrongService.replace(/\.$/, ''))
  const service = given.service?.trim() ?? serviceIn(io.env)
  const env: Record<string, string> = { ...(service === null ? {} : { FAREBOX_BASE_URL: service }) }
  for (const setting of given.set) {
    const [, variable = '', value = ''] = /^([A-Z_]+)=(.*)$/s.exec(setting) ?? []
    if (variable === '') throw wrongUsage(name, '`--set` takes NAME=VALUE, such as FAREBOX_MAX_DAY_USD=5')
    if (!maySet(variable))
      throw wrongUsage(name, `\`--set\` does not accept ${variable}; it accepts ${settable.join(', ')}`)
    env[variable] = value
  }
  const { problems } = readSettings(env)
  if (problems.length > 0) throw wrongUsage(name, problems.join(' ').replace(/\.$/, ''))
  if (given['api-key']) {
    if (client.apiKey === null) {
      const none = `${client.title} cannot read a key from its environment, and farebox writes no keys into files.`
      throw new CliError(
        none,
        'Leave out `--api-key`, and pay from a wallet: `farebox wallet create --service URL`.',
        2,
      )
    }
    env.FAREBOX_API_KEY = apiKeyPlaceholder(client)
  }
  return { ...startCommand(io.self, { ...given, data: given.data ?? (io.env.FAREBOX_DATA?.trim() || undefined) }), env }
}

/** Settings that are not secret; FAREBOX_DATA, FAREBOX_TOOLS and the service have flags. */
const settable = [...amounts, 'FAREBOX_DRY_RUN', 'FAREBOX_OUTPUT_DIR', 'FAREBOX_PAYEE', 'FAREBOX_VENDOR'] as const

const maySet = (variable: string): boolean => isAgentVariable(variable) && settable.some(each => each === variable)

interface ListedClient {
  client: string
  title: string
  /** Whether the client was found on this machine. */
  found: boolean
  /** Whether its configuration has farebox; null if it cannot be read. */
  installed: boolean | null
  file: string
}

async function list(machine: Machine, isJson: boolean, io: CommandIo): Promise<number> {
  const clients = await Promise.all(assistantClients.map(client => listed(client, machine)))
  if (isJson) {
    io.output.print(asJson({ clients }))
    return 0
  }
  const [{ paintFor }, { printTable }] = await Promise.all([import('../show/style.ts'), import('../show/table.ts')])
  const paint = paintFor(io.output)
  const rows = clients.map(({ client, found, installed, file }) => {
    const state = installed === null ? paint('bad', 'cannot be read') : installed ? paint('good', 'installed') : ''
    return [client, found ? 'found' : '', state, file]
  })
  printTable({ head: ['Client', 'Here', 'farebox', 'Configuration'], rows, isAligned: true }, io.output)
  const { asTyped } = await import('#agent/words/typed-commands.ts')
  io.output.note(asTyped('Run `farebox install CLIENT` for one of them.'))
  return 0
}

async function listed(client: AssistantClient, machine: Machine): Promise<ListedClient> {
  const { configOf, hasOurEntry } = await import('../assistants/change-config.ts')
  const { folders, program } = client.signs(machine)
  const found = folders.some(folder => existsSync(folder)) || (program !== null && hasProgram(machine, program))
  const file = configOf(client, machine)
  const installed = await hasOurEntry(client, file).catch(() => null)
  return { client: client.name, title: client.title, found, installed, file }
}
