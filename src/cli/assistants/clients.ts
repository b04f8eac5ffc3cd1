import { notWrittenIn } from '#agent/settings/settings.ts'
import { atHome, belowVariable, inAppFolder, inPackageFolders, inXdgFolder, type Machine } from './machine.ts'

/** How a client starts the server, without any secret. */
export interface StartCommand {
  command: string
  args: readonly string[]
  /** Settings for the server. The API key is the client's own placeholder, or absent. */
  env: Readonly<Record<string, string>>
}

/** The members of an entry, as in the client's file for one server. */
export type Entry = Readonly<Record<string, unknown>>

/** A program that offers MCP tools to a model, and how it is configured. */
export interface AssistantClient {
  /** Its name on the command line. */
  name: string
  title: string
  /** Files in JSON may also contain comments; the format here is the one that the client documents. */
  format: 'JSON' | 'JSONC' | 'TOML'
  /** The user's configuration: the first of these that exists, else the first. */
  files(machine: Machine): readonly [string, ...string[]]
  /** Where the entry is in that file. */
  keys: readonly [string, 'farebox']
  /** The client's folders and executable, which show whether it is installed. */
  signs(machine: Machine): { folders: readonly string[]; program: string | null }
  entry(start: StartCommand): Entry
  /** How the client refers to the variable FAREBOX_API_KEY of its own environment; null if it cannot. */
  apiKey: string | null
  /** Content that the file needs for the API key, beside the entry. */
  input?: { list: string; item: Readonly<Record<string, unknown>> & { id: string } }
  /** The client's own command for adding a server. */
  ownCommand?(start: StartCommand): readonly string[]
  /** A link that makes the client offer the installation. */
  link?(start: StartCommand): string
  /** The next step for the user. */
  afterwards: string
  docs: string
}

/** When the formats were last compared with the pages under `docs`, and with the clients on npm. */
export const formatsChecked = '2026-11-23'

const plain = ({ command, args, env }: StartCommand): Entry => ({ command, args, env })
const stdio = (start: StartCommand): Entry => ({ type: 'stdio', ...plain(start) })

/** `-e NAME=VALUE` of a client's own command. */
const flags = (flag: string, { env }: StartCommand): string[] =>
  Object.entries(env).flatMap(([name, value]) => [flag, `${name}=${value}`])

const program = ({ command, args }: StartCommand): string[] => [command, ...args]

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: each client fills in a spelling of its own

/** Every client that `farebox install` and `farebox mcp --print-config` know. */
export const assistantClients: readonly AssistantClient[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    format: 'JSON',
    files: machine => [belowVariable(machine, 'CLAUDE_CONFIG_DIR', [], '.claude.json')],
    keys: ['mcpServers', 'farebox'],
    signs: machine => ({ folders: [atHome(machine, '.claude')], program: 'claude' }),
    entry: stdio,
    apiKey: '${FAREBOX_API_KEY:-}',
    ownCommand: start => [
      'claude',
      'mcp',
      'add',
      '--scope',
      'user',
      'farebox',
      ...flags('-e', start),
      '--',
      ...program(start),
    ],
    afterwards: 'Start a new session of Claude Code; `/mcp` shows the server.',
    docs: 'https://code.claude.com/docs/en/mcp',
  },
  {
    name: 'claude-desktop',
    title: 'Claude Desktop',
    format: 'JSON',
    files: machine => {
      const name = ['Claude', 'claude_desktop_config.json']
      const usual = inAppFolder(machine, ...name)
      // The installer for Windows installs a package, which reads the usual file only until it has one of its own.
      const [packaged = usual, ...others] = inPackageFolders(machine, 'Claude_', ...name)
      return [packaged, ...others, usual]
    },
    keys: ['mcpServers', 'farebox'],
    signs: machine => ({
      folders: [...inPackageFolders(machine, 'Claude_'), inAppFolder(machine, 'Claude')],
      program: null,
    }),
    entry: plain,
    apiKey: null,
    afterwards: 'Quit Claude Desktop and start it again.',
    docs: 'https://modelcontextprotocol.io/docs/develop/connect-local-servers',
  },
  {
    name: 'vscode',
    title: 'VS Code',
    format: 'JSONC',
    files: machine => [inAppFolder(machine, 'Code', 'User', 'mcp.json')],
    keys: ['servers', 'farebox'],
    signs: machine => ({ folders: [inAppFolder(machine, 'Code')], program: 'code' }),
    entry: stdio,
    apiKey: '${input:farebox_api_key}',
    input: {
      list: 'inputs',
      item: { type: 'promptString', id: 'farebox_api_key', description: 'API key of the service', password: true },
    },
    ownCommand: start => ['code', '--add-mcp', JSON.stringify({ name: 'farebox', ...plain(start) })],
    link: start => `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: 'farebox', ...plain(start) }))}`,
    afterwards: 'Start the server once with the command `MCP: List Servers`.',
    docs: 'https://code.visualstudio.com/docs/copilot/customization/mcp-servers',
  },
  {
    name: 'cursor',
    title: 'Cursor',
    format: 'JSONC',
    files: machine => [atHome(machine, '.cursor', 'mcp.json')],
    keys: ['mcpServers', 'farebox'],
    signs: machine => ({ folders: [atHome(machine, '.cursor')], program: 'cursor' }),
    entry: stdio,
    apiKey: '${env:FAREBOX_API_KEY}',
    link: start => {
      const config = encodeURIComponent(Buffer.from(JSON.stringify(stdio(start))).toString('base64'))
      return `cursor://anysphere.cursor-deeplink/mcp/install?name=farebox&config=${config}`
    },
    afterwards: 'Switch the server on in Cursor: Settings, MCP.',
    docs: 'https://cursor.com/docs/mcp',
  },
  {
    name: 'codex',
    title: 'Codex',
    format: 'TOML',
    files: machine => [belowVariable(machine, 'CODEX_HOME', ['.codex'], 'config.toml')],
    keys: ['mcp_servers', 'farebox'],
    signs: machine => ({ folders: [belowVariable(machine, 'CODEX_HOME', ['.codex'])], program: 'codex' }),
    // It passes on only the variables that are named.
    entry: ({ env: { FAREBOX_API_KEY, ...env }, ...start }) => ({
      ...plain({ ...start, env }),
      ...(FAREBOX_API_KEY === undefined ? {} : { env_vars: ['FAREBOX_API_KEY'] }),
    }),
    apiKey: 'FAREBOX_API_KEY',
    ownCommand: start => ['codex', 'mcp', 'add', 'farebox', ...flags('--env', start), '--', ...program(start)],
    afterwards: 'Start a new session of Codex; `/mcp` shows the server.',
    docs: 'https://developers.openai.com/codex/mcp',
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    format: 'JSONC',
    files: machine => [belowVariable(machine, 'GEMINI_CLI_HOME', [], '.gemini', 'settings.json')],
    keys: ['mcpServers', 'farebox'],
    signs: machine => ({
      folders: [belowVariable(machine, 'GEMINI_CLI_HOME', [], '.gemini', 'settings.json')],
      program: 'gemini',
    }),
    entry: plain,
    apiKey: '$FAREBOX_API_KEY',
    ownCommand: start => [
      'gemini',
      'mcp',
      'add',
      '--scope',
      'user',
      ...flags('-e', start),
      'farebox',
      ...program(start),
    ],
    afterwards: 'Start Gemini CLI again in a folder that it trusts; `/mcp` shows the server.',
    docs: 'https://geminicli.com/docs/tools/mcp-server/',
  },
  {
    name: 'antigravity',
    title: 'Antigravity',
    format: 'JSON',
    // The second one is for versions before 2.0.
    files: machine => [
      atHome(machine, '.gemini', 'config', 'mcp_config.json'),
      atHome(machine, '.gemini', 'antigravity', 'mcp_config.json'),
    ],
    keys: ['mcpServers', 'farebox'],
    signs: machine => ({
      folders: ['antigravity', 'antigravity-cli'].map(name => atHome(machine, '.gemini', name)),
      program: 'agy',
    }),
    entry: plain,
    apiKey: null,
    afterwards: 'Refresh the list in Antigravity: MCP Servers, Manage MCP Servers.',
    docs: 'https://antigravity.google/docs/mcp',
  },
  {
    name: 'zed',
    title: 'Zed',
    format: 'JSONC',
    files: machine => [
      machine.platform === 'win32'
        ? inAppFolder(machine, 'Zed', 'settings.json')
        : inXdgFolder(machine, 'zed', 'settings.json'),
    ],
    keys: ['context_servers', 'farebox'],
    signs: machine => ({
      folders: [machine.platform === 'win32' ? inAppFolder(machine, 'Zed') : inXdgFolder(machine, 'zed')],
      program: 'zed',
    }),
    entry: plain,
    apiKey: null,
    afterwards: 'Zed starts the server on its own; its dot in the agent’s settings then turns green.',
    docs: 'https://zed.dev/docs/ai/mcp',
  },
  {
    // Windsurf is now Devin Desktop, which reads this file too.
    name: 'devin',
    title: 'Devin',
    format: 'JSON',
    files: machine => [
      machine.platform === 'win32'
        ? inAppFolder(machine, 'devin', 'mcp_config.json')
        : inXdgFolder(machine, 'devin', 'mcp_config.json'),
    ],
    keys: ['mcpServers', 'farebox'],
    signs: machine => ({
      folders: [machine.platform === 'win32' ? inAppFolder(machine, 'devin') : inXdgFolder(machine, 'devin')],
      program: 'devin',
    }),
    entry: plain,
    apiKey: null,
    ownCommand: start => [
      'devin',
      'mcp',
      'add',
      '-s',
      'user',
      ...flags('-e', start),
      'farebox',
      '--',
      ...program(start),
    ],
    afterwards: 'Start a new session of Devin; in Devin Desktop, refresh the MCP servers first.',
    docs: 'https://docs.devin.ai/cli/extensibility/mcp/configuration',
  },
  {
    name: 'cline',
    title: 'Cline',
    format: 'JSON',
    files: machine => {
      const named = machine.env.CLINE_MCP_SETTINGS_PATH
      const usual = ['data', 'settings', 'cline_mcp_settings.json']
      return [named || belowVariable(machine, 'CLINE_DIR', ['.cline'], ...usual)]
    },
    keys: ['mcpServers', 'farebox'],
    signs: machine => ({ folders: [belowVariable(machine, 'CLINE_DIR', ['.cline'])], program: 'cline' }),
    entry: plain,
    apiKey: null,
    afterwards: 'Cline reads the file on its own; the server is listed under MCP Servers, Configure.',
    docs: 'https://docs.cline.bot/mcp/mcp-overview',
  },
  {
    name: 'copilot',
    title: 'Copilot CLI',
    format: 'JSON',
    files: machine => [belowVariable(machine, 'COPILOT_HOME', ['.copilot'], 'mcp-config.json')],
    keys: ['mcpServers', 'farebox'],
    signs: machine => ({ folders: [belowVariable(machine, 'COPILOT_HOME', ['.copilot'])], program: 'copilot' }),
    entry: start => ({ type: 'local', ...plain(start), tools: ['*'] }),
    apiKey: '${FAREBOX_API_KEY}',
    ownCommand: start => ['copilot', 'mcp', 'add', 'farebox', ...flags('--env', start), '--', ...program(start)],
    afterwards: 'Start Copilot CLI again; `/mcp show` shows the server.',
    docs: 'https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers',
  },
  {
    name: 'opencode',
    title: 'opencode',
    format: 'JSONC',
    files: machine => [
      inXdgFolder(machine, 'opencode', 'opencode.jsonc'),
      inXdgFolder(machine, 'opencode', 'opencode.json'),
    ],
    keys: ['mcp', 'farebox'],
    signs: machine => ({ folders: [inXdgFolder(machine, 'opencode')], program: 'opencode' }),
    entry: ({ env, ...start }) => ({
      type: 'local',
      command: program({ ...start, env }),
      environment: env,
      enabled: true,
    }),
    apiKey: '{env:FAREBOX_API_KEY}',
    ownCommand: start => ['opencode', 'mcp', 'add', 'farebox', ...flags('--env', start), '--', ...program(start)],
    afterwards: 'Start opencode again; `opencode mcp list` shows the server.',
    docs: 'https://opencode.ai/docs/mcp-servers/',
  },
]
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: each client fills in a spelling of its own

/** The API key in a client's configuration, if one was requested or the user completes the text. */
export const apiKeyPlaceholder = ({ apiKey }: AssistantClient): string => apiKey ?? notWrittenIn
