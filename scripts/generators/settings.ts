import { defaultCaps } from '#wallet/limits.ts'

/** A variable of the MCP server that a client prompts for at installation. */
export interface Setting {
  /** Its key in an MCPB client's configuration. */
  key: string
  variable: string
  type: 'string' | 'number' | 'directory'
  title: string
  description: string
  /** USD as a number for a cap, otherwise text. */
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

/** The settings of an installed package, with the wallet's own defaults for the caps. */
export const settings: readonly Setting[] = [
  {
    key: 'base_url',
    variable: 'FAREBOX_BASE_URL',
    type: 'string',
    title: 'Address of the service',
    description: 'Ends in /api/v1. The wallet pays this service only.',
    isRequired: true,
  },
  {
    key: 'api_key',
    variable: 'FAREBOX_API_KEY',
    type: 'string',
    title: 'API key',
    description: 'A key of that service, if you have one. With a key and no wallet, farebox never buys credit.',
    isSecret: true,
  },
  {
    key: 'wallet_folder',
    variable: 'FAREBOX_DATA',
    type: 'directory',
    title: 'Wallet folder',
    description:
      'The folder that `farebox wallet create` used. It also contains the budget and jobs. Default: ~/.farebox.',
  },
  {
    key: 'wallet_key',
    variable: 'FAREBOX_WALLET_KEY',
    type: 'string',
    title: 'Wallet key',
    description:
      'Private key of a wallet on Base, 64 hexadecimal digits. Create a new wallet for this in a wallet app, and keep only a few dollars in it. Your assistant stores the key with its other secrets.',
    isSecret: true,
  },
  {
    key: 'solana_key',
    variable: 'FAREBOX_SOLANA_KEY',
    type: 'string',
    title: 'Solana key',
    description:
      'Private key of a wallet on Solana, in base58 as wallet apps export it. Use it instead of the Base key or in addition to it.',
    isSecret: true,
  },
  {
    key: 'solana_rpc_url',
    variable: 'FAREBOX_SOLANA_RPC_URL',
    type: 'string',
    title: 'Solana node',
    description:
      'Address of a Solana node, https://host/path. Default: the public node. Enter none to pay nothing on Solana.',
    isSecret: true,
  },
  cap(
    'max_payment_usd',
    'FAREBOX_MAX_PAYMENT_USD',
    'Maximum per payment (USD)',
    'The wallet refuses larger payments. A top-up is at least 5 USD.',
    defaultCaps.maxPaymentUsd,
  ),
  cap(
    'max_day_usd',
    'FAREBOX_MAX_DAY_USD',
    'Maximum in 24 hours (USD)',
    'Further payments are refused until older ones are 24 hours old.',
    defaultCaps.maxDayUsd,
  ),
  cap(
    'max_total_usd',
    'FAREBOX_MAX_TOTAL_USD',
    'Maximum in total (USD)',
    'The wallet pays nothing more until you raise this.',
    defaultCaps.maxTotalUsd,
  ),
  cap(
    'max_call_usd',
    'FAREBOX_MAX_CALL_USD',
    'Maximum price per call (USD)',
    'A more expensive call is refused.',
    defaultCaps.maxCallUsd,
  ),
  cap(
    'ask_above_usd',
    'FAREBOX_ASK_ABOVE_USD',
    'Ask for my approval above (USD)',
    'A call that costs more, or has no known price, needs your approval. Within the other limits, the wallet buys 5 USD of credit without asking when a call needs it.',
    defaultCaps.askAboveUsd,
  ),
  {
    key: 'output_folder',
    variable: 'FAREBOX_OUTPUT_DIR',
    type: 'directory',
    title: 'Folder for results',
    description: 'Tools save files here and may read and send any file here, so use a separate folder.',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the installing client fills this in
    default: '${HOME}/Downloads/farebox',
  },
  {
    key: 'tools',
    variable: 'FAREBOX_TOOLS',
    type: 'string',
    title: 'Tools',
    description: 'Tools or sets such as core, wallet and video, separated by commas. Default: the usual tools.',
  },
]

/** A file with the wallet's passphrase. Its path is an argument, because the environment must not contain a passphrase. */
export const passphraseFile = {
  key: 'passphrase_file',
  flag: '--passphrase-file',
  title: 'File with the passphrase',
  description:
    'Unlocks the wallet that `farebox wallet create` made. The file must be readable only by you. Not needed if the keychain has the keys.',
} as const
