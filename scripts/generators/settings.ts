import { defaultCaps } from '#wallet/limits.ts'

/** A variable of the MCP server as an installing client asks a person for it. */
export interface Setting {
  /** Its name among the answers of an MCPB client. */
  key: string
  variable: string
  type: 'string' | 'number' | 'directory'
  title: string
  description: string
  /** USD as a number for a cap, as text for the rest. */
  default?: string | number
  isRequired?: boolean
  isSecret?: boolean
}

const cap = (key: string, variable: string, title: string, description: string, usd: string): Setting => ({
  key,
  variable,
  type: 'number',
  title,
  description,
  default: Number(usd),
})

/** What a person may set where the server is installed from a package; the wallet's own defaults stand beside the caps. */
export const settings: readonly Setting[] = [
  {
    key: 'base_url',
    variable: 'FAREBOX_BASE_URL',
    type: 'string',
    title: 'Address of the service',
    description: 'Ends in /api/v1. The wallet pays for this service and for no other.',
    isRequired: true,
  },
  {
    key: 'api_key',
    variable: 'FAREBOX_API_KEY',
    type: 'string',
    title: 'API key',
    description: 'Of that service, where you have one. With a key alone nothing is ever topped up.',
    isSecret: true,
  },
  {
    key: 'wallet_folder',
    variable: 'FAREBOX_DATA',
    type: 'directory',
    title: 'Folder of the wallet',
    description: 'Where `farebox wallet create` put it, and where budget and jobs are kept; ~/.farebox where empty.',
  },
  {
    key: 'wallet_key',
    variable: 'FAREBOX_WALLET_KEY',
    type: 'string',
    title: 'Wallet key',
    description:
      'Private key of a small wallet on Base that pays, 64 hexadecimal digits: made for this alone in a wallet app, with pocket money only. It is kept with the secrets of your assistant.',
    isSecret: true,
  },
  {
    key: 'solana_key',
    variable: 'FAREBOX_SOLANA_KEY',
    type: 'string',
    title: 'Solana key',
    description:
      'Private key of a small wallet on Solana, base58 as wallets export it, instead of the one on Base or beside it.',
    isSecret: true,
  },
  {
    key: 'solana_rpc_url',
    variable: 'FAREBOX_SOLANA_RPC_URL',
    type: 'string',
    title: 'Solana node',
    description:
      'Its address, https://host/path; the public one where empty. With the word none nothing is paid on Solana.',
    isSecret: true,
  },
  cap(
    'max_payment_usd',
    'FAREBOX_MAX_PAYMENT_USD',
    'Most of one payment (USD)',
    'The wallet pays no more than this at once; services take 5 at least.',
    defaultCaps.maxPaymentUsd,
  ),
  cap(
    'max_day_usd',
    'FAREBOX_MAX_DAY_USD',
    'Most that is paid in 24 hours (USD)',
    'The wallet stops there until a day has passed.',
    defaultCaps.maxDayUsd,
  ),
  cap(
    'max_total_usd',
    'FAREBOX_MAX_TOTAL_USD',
    'Most that is paid altogether (USD)',
    'The wallet stops there until you raise it.',
    defaultCaps.maxTotalUsd,
  ),
  cap(
    'max_call_usd',
    'FAREBOX_MAX_CALL_USD',
    'Most that one call may cost (USD)',
    'A call that is priced above it is refused.',
    defaultCaps.maxCallUsd,
  ),
  cap(
    'ask_above_usd',
    'FAREBOX_ASK_ABOVE_USD',
    'Ask me above (USD)',
    'A call that costs more, or whose price is not known, is asked for.',
    defaultCaps.askAboveUsd,
  ),
  {
    key: 'output_folder',
    variable: 'FAREBOX_OUTPUT_DIR',
    type: 'directory',
    title: 'Folder for results',
    description:
      'Files that tools make are saved here, and files are read from here: a folder of its own, because a tool may read all of it.',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the installing client fills this in
    default: '${HOME}/Downloads/farebox',
  },
  {
    key: 'tools',
    variable: 'FAREBOX_TOOLS',
    type: 'string',
    title: 'Tools',
    description:
      'Names of tools or of sets such as core, wallet and video, with commas between them; the usual ones where empty.',
  },
]

/** A file that opens the encrypted wallet: its path is an argument, because a passphrase stands in no environment. */
export const passphraseFile = {
  key: 'passphrase_file',
  flag: '--passphrase-file',
  title: 'File with the passphrase',
  description:
    'Opens the wallet of `farebox wallet create`; a file that only you may read. Not needed where the keychain keeps the keys.',
} as const
