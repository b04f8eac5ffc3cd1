import { realpathSync } from 'node:fs'
import { resolve, sep } from 'node:path'
import { notWrittenIn } from '#agent/settings/settings.ts'
import { type CommandIo, wrongUsage } from '../command.ts'

/** How a client starts the server: the program and what stands behind it, without any secret. */
export interface StartCommand {
  command: string
  args: readonly string[]
  /** Address of the service; null where none is known. */
  service: string | null
}

/** A program that serves MCP tools to a model, and what its configuration looks like. */
export interface AssistantClient {
  /** As it is named at the command line. */
  name: string
  format: 'json' | 'toml'
  /** Where the text goes, and what the person still has to do; for a person. */
  where: string
  /** The text itself; the key stands in it as the client's own placeholder. */
  write(start: StartCommand): string
}

const exampleAddress = 'https://api.service.example/api/v1'

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/** The members that nearly all clients agree on. */
const server = ({ command, args, service }: StartCommand, apiKey: string) => ({
  command,
  args,
  env: { FAREBOX_BASE_URL: service ?? exampleAddress, FAREBOX_API_KEY: apiKey },
})

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: each client fills in a spelling of its own

/** Every client that `farebox mcp --print-config` knows. */
export const assistantClients: readonly AssistantClient[] = [
  {
    name: 'claude-code',
    format: 'json',
    where: '.mcp.json in a project, or ~/.claude.json for all of them. FAREBOX_API_KEY comes from your environment.',
    write: start => json({ mcpServers: { farebox: { type: 'stdio', ...server(start, '${FAREBOX_API_KEY:-}') } } }),
  },
  {
    name: 'claude-desktop',
    format: 'json',
    where:
      'claude_desktop_config.json (Settings, Developer, Edit Config). It fills in nothing: use a wallet, or write the key in. The bundle (.mcpb) asks for everything instead.',
    write: start => json({ mcpServers: { farebox: server(start, notWrittenIn) } }),
  },
  {
    name: 'vscode',
    format: 'json',
    where: '.vscode/mcp.json in a project, or `MCP: Open User Configuration`. It asks for the key once and keeps it.',
    write: start =>
      json({
        inputs: [
          { type: 'promptString', id: 'farebox_api_key', description: 'API key of the service', password: true },
        ],
        servers: { farebox: { type: 'stdio', ...server(start, '${input:farebox_api_key}') } },
      }),
  },
  {
    name: 'cursor',
    format: 'json',
    where: '~/.cursor/mcp.json, or .cursor/mcp.json in a project. FAREBOX_API_KEY comes from your environment.',
    write: start => json({ mcpServers: { farebox: server(start, '${env:FAREBOX_API_KEY}') } }),
  },
  {
    name: 'codex',
    format: 'toml',
    where: '~/.codex/config.toml. FAREBOX_API_KEY comes from your environment.',
    write: codexTable,
  },
  {
    name: 'gemini',
    format: 'json',
    where:
      '~/.gemini/settings.json, or .gemini/settings.json in a project. FAREBOX_API_KEY comes from your environment.',
    write: start => json({ mcpServers: { farebox: server(start, '$FAREBOX_API_KEY') } }),
  },
  {
    name: 'zed',
    format: 'json',
    where: 'settings.json (`zed: open settings file`). It fills in nothing: use a wallet, or write the key in.',
    write: start => json({ context_servers: { farebox: server(start, notWrittenIn) } }),
  },
]
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: each client fills in a spelling of its own

/** Codex hands through the variables that are named, and others not at all. */
function codexTable({ command, args, service }: StartCommand): string {
  return `[mcp_servers.farebox]
command = ${tomlText(command)}
args = [${args.map(tomlText).join(', ')}]
env = { FAREBOX_BASE_URL = ${tomlText(service ?? exampleAddress)} }
env_vars = ["FAREBOX_API_KEY"]`
}

/** A basic string of TOML has the escapes of JSON; only DEL is one more that has to be written as one. */
const tomlText = (text: string): string => JSON.stringify(text).replaceAll('\u007f', '\\u007f')

/** Flags of `farebox mcp` that a client has to give too; a passphrase itself is none of them. */
export interface CarriedFlags {
  tools?: string | undefined
  data?: string | undefined
  'passphrase-file'?: string | undefined
}

/** Prints what a client's configuration has to say: where it goes on stderr, the text alone on stdout. Reads no key. */
export async function printConfig(command: string, client: string, flags: CarriedFlags, io: CommandIo): Promise<void> {
  const found = assistantClients.find(({ name }) => name === client)
  if (!found) {
    const names = assistantClients.map(({ name }) => name).join(', ')
    throw wrongUsage(command, `\`--print-config\` takes one of ${names}`)
  }
  io.output.note(`Put this into ${found.where}`)
  const { asTyped } = await import('#agent/words/typed-commands.ts')
  const service = serviceIn(io.env)
  io.output.note(
    asTyped(
      service === null
        ? 'Write the address of your service in; without a key a wallet pays: `farebox wallet create --service URL`.'
        : `Without a key a wallet pays: \`farebox wallet create --service ${service}\`.`,
    ),
  )
  const start = { ...startCommand(io.self, flags), service }
  if (start.args[0]?.includes(`${sep}_npx${sep}`)) io.output.note(unpackedByNpx)
  io.output.print(found.write(start))
}

/** As this terminal names it; an address with a secret in it is not printed. */
function serviceIn({ FAREBOX_BASE_URL }: CommandIo['env']): string | null {
  const given = FAREBOX_BASE_URL?.trim() ?? ''
  if (!URL.canParse(given)) return null
  const { protocol, username, password, search } = new URL(given)
  return /^https?:$/.test(protocol) && `${username}${password}${search}` === '' ? given : null
}

const unpackedByNpx =
  'This farebox was unpacked by npx for the moment and may be gone tomorrow: install it with `npm install -g`, then print this again.'

/** This very installation, by its path, so that nothing is looked up in a PATH that desktop programs do not have. */
function startCommand([program, launcher = '']: CommandIo['self'], flags: CarriedFlags): Omit<StartCommand, 'service'> {
  const path = realPath(launcher)
  const carried = Object.entries({
    '--tools': flags.tools,
    '--data': flags.data && resolve(flags.data),
    '--passphrase-file': flags['passphrase-file'] && resolve(flags['passphrase-file']),
  }).flatMap(([flag, value]) => (value ? [flag, value] : []))
  return { command: program, args: [path, 'mcp', ...carried] }
}

/** A link in a folder of programs may be another one after the next installation. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}
