import { readFile } from 'node:fs/promises'
import { sources } from './sources.ts'

/** The description of the bundle that desktop assistants install (MCPB, manifest version 0.3). Unknown members make it invalid. */
export async function manifest(): Promise<string> {
  const { name, version, description, license, keywords } = JSON.parse(
    await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { name: string; version: string; description: string; license: string; keywords: string[] }
  const tools = (await sources('tools')).map(({ value }) => ({ name: value.name, description: value.description }))
  const bundle = {
    manifest_version: '0.3',
    name,
    display_name: 'farebox',
    version,
    description,
    author: { name: 'the farebox authors' },
    license,
    keywords,
    server: {
      type: 'node',
      entry_point: 'bin/farebox.mjs',
      mcp_config: {
        command: 'node',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the installing client fills these in
        args: ['${__dirname}/bin/farebox.mjs', 'mcp'],
        env: Object.fromEntries(settings.map(({ key, variable }) => [variable, `\${user_config.${key}}`])),
      },
    },
    tools,
    user_config: Object.fromEntries(settings.map(({ key, variable: _variable, ...setting }) => [key, setting])),
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: '>=22.19.0' } },
  }
  return `${JSON.stringify(bundle, null, 2)}\n`
}

const settings = [
  {
    key: 'base_url',
    variable: 'FAREBOX_BASE_URL',
    type: 'string',
    title: 'Address of the service',
    description: 'Ends in /api/v1. The wallet pays for this service and for no other.',
    required: true,
  },
  {
    key: 'api_key',
    variable: 'FAREBOX_API_KEY',
    type: 'string',
    title: 'API key',
    description: 'Of that service, where you have one. With a key alone nothing is ever topped up.',
    sensitive: true,
    required: false,
  },
  {
    key: 'wallet_key',
    variable: 'FAREBOX_WALLET_KEY',
    type: 'string',
    title: 'Wallet key',
    description:
      'Private key of a small wallet on Base that pays, 64 hexadecimal digits. Keep only pocket money there.',
    sensitive: true,
    required: false,
  },
  {
    key: 'solana_key',
    variable: 'FAREBOX_SOLANA_KEY',
    type: 'string',
    title: 'Solana key',
    description:
      'Private key of a small wallet on Solana, base58 as wallets export it, instead of the one on Base or beside it.',
    sensitive: true,
    required: false,
  },
  {
    key: 'solana_rpc_url',
    variable: 'FAREBOX_SOLANA_RPC_URL',
    type: 'string',
    title: 'Solana node',
    description: 'Its address, https://host/path. Without one nothing is paid on Solana.',
    sensitive: true,
    required: false,
  },
  {
    key: 'max_day_usd',
    variable: 'FAREBOX_MAX_DAY_USD',
    type: 'string',
    title: 'Most that is paid in 24 hours (USD)',
    description: 'The wallet stops there until a day has passed.',
    default: '10',
    required: false,
  },
  {
    key: 'output_folder',
    variable: 'FAREBOX_OUTPUT_DIR',
    type: 'directory',
    title: 'Folder for results',
    description: 'Videos and other files are saved here, and pictures are read from here.',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the installing client fills this in
    default: '${HOME}/Downloads',
    required: false,
  },
]
