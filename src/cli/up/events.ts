import type { DataFolder } from '../data/data-folder.ts'
import type { Output } from '../output.ts'
import type { LocalService } from './local-service.ts'

/** What `up` tells, one JSON object a line with `--json`, words without. */
type UpEvent = ReadyEvent | StepEvent | FileEvent | DoneEvent

interface ReadyEvent {
  event: 'ready'
  baseUrl: string
  evmRpcUrl: string
  /** Null where there is no Solana chain, and then `withoutSolana` says why. */
  solanaRpcUrl: string | null
  withoutSolana?: string
  dataDir: string
}

interface StepEvent {
  event: 'step'
  name: string
  ok: boolean
  /** Null where the step cannot cost anything. */
  costUsd: number | null
  ms: number
  detail: string
}

interface FileEvent {
  event: 'file'
  path: string
  mimeType: string
  bytes: number
}

interface DoneEvent {
  event: 'done'
  ok: boolean
}

export type Report = (event: UpEvent) => void

export const reportAsJson =
  (output: Output): Report =>
  event =>
    output.printJson(event)

export const reportInWords =
  (output: Output): Report =>
  event => {
    for (const line of words(event)) output.print(line)
  }

function words(event: UpEvent): string[] {
  switch (event.event) {
    case 'ready':
      return [`ready ${event.baseUrl}`, ...(event.withoutSolana === undefined ? [] : [event.withoutSolana])]
    case 'step':
      return [
        `${event.ok ? '✓' : '✗'} ${event.name.padEnd(14)} ${cost(event)}  ${event.detail.replaceAll('\n', '\n    ')}`,
      ]
    case 'file':
      return [`  file           ${event.path} (${event.mimeType}, ${event.bytes} bytes)`]
    case 'done':
      return [event.ok ? 'The demo is done.' : 'The demo failed; see the step above.']
  }
}

const cost = ({ costUsd }: StepEvent): string => (costUsd === null ? 'free'.padStart(12) : `${costUsd.toFixed(6)} USD`)

/** What the user has before them once `up` serves, and what to try next. */
export async function sayServing(
  { baseUrl, models, wallet }: Pick<LocalService, 'baseUrl' | 'models' | 'wallet'>,
  folder: DataFolder,
): Promise<string[]> {
  const { ownCommand } = await import('#agent/words/typed-commands.ts')
  const farebox = ownCommand()
  const data = `--data ${/\s/.test(folder.root) ? `"${folder.root}"` : folder.root}`
  const longest = Math.max(...models.map(({ id }) => id.length))
  return [
    '',
    `Serving at ${baseUrl} until Ctrl-C. Everything is kept in ${folder.root}.`,
    'Models:',
    ...models.map(({ id, type }) => `  ${id.padEnd(longest)}  ${type}`),
    'In another terminal:',
    '  # an API key with 5 USD of test credit',
    `  ${farebox} keys create --usd 5 ${data}`,
    '  # test money for your own wallet',
    `  ${farebox} local fund ADDRESS --usd 25 ${data}`,
    '  # 2 USD of credit each day for the test wallet, spent before its USDC; an answer shows it as x-service-balance-diem',
    `  ${farebox} local stake ${wallet.address} --tokens 2 ${data}`,
    '  # set up your shell, so that your code and `farebox proxy` pay from the test wallet',
    `  eval "$(${farebox} local env ${data})"`,
    '  # audit the ledger',
    `  ${farebox} ledger audit ${data}`,
  ]
}
