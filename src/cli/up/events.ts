import { join } from 'node:path'
import { sayUsd } from '#toolkit/values/amounts.ts'
import type { Changed } from '../assistants/change-config.ts'
import type { DataFolder } from '../data/data-folder.ts'
import type { Output } from '../output.ts'
import { paintFor } from '../show/style.ts'
import type { LocalService } from './local-service.ts'

/** What `up` reports: one JSON object per line with `--json`, words without. */
type UpEvent = ReadyEvent | InstalledEvent | StepEvent | FileEvent | DoneEvent

interface ReadyEvent {
  event: 'ready'
  baseUrl: string
  evmRpcUrl: string
  /** Null without a Solana chain; then `withoutSolana` says why. */
  solanaRpcUrl: string | null
  withoutSolana?: string
  dataDir: string
}

/** The user's client has farebox now, or had it already. */
interface InstalledEvent extends Changed {
  event: 'installed'
}

interface StepEvent {
  event: 'step'
  name: string
  ok: boolean
  /** Null if the step cannot cost anything. */
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

export async function reportInWords(output: Output): Promise<Report> {
  const { tableLines } = await import('../show/table.ts')
  return event => {
    for (const line of words(event, output, tableLines)) output.print(line)
  }
}

type DrawTable = typeof import('../show/table.ts').tableLines

function words(event: UpEvent, output: Output, tableLines: DrawTable): string[] {
  const paint = paintFor(output)
  switch (event.event) {
    case 'ready':
      return [
        paint('accent', `ready ${event.baseUrl}`),
        ...(event.withoutSolana === undefined ? [] : [event.withoutSolana]),
      ]
    case 'installed':
      // Its words are printed while the user is asked.
      return []
    case 'step': {
      const [first = '', ...more] = event.detail.split('\n')
      const mark = event.ok ? paint('good', '✓') : paint('bad', '✗')
      const row = [`${mark} ${event.name}`, event.costUsd === null ? 'free' : sayUsd(event.costUsd), first]
      return [...tableLines({ ...stepTable, rows: [row] }, output), ...more.map(line => `    ${paint('faint', line)}`)]
    }
    case 'file': {
      const row = ['  file', '', `${event.path} (${event.mimeType}, ${event.bytes} bytes)`]
      return tableLines({ ...stepTable, rows: [row] }, output)
    }
    case 'done':
      return [event.ok ? 'The demo is done.' : paint('bad', 'The demo failed; see the step above.')]
  }
}

/** The steps are printed one by one, under each other. */
const stepTable = { least: { 0: 16, 1: 12 }, right: [1], isAligned: true } as const

/** A first request that costs something, for a client that has farebox. */
export const askIt = (title: string): string => `Ask ${title}: “Use farebox to make an image of a lighthouse at dusk.”`

function inPlace({ root }: DataFolder, ...names: string[]): string {
  const path = join(root, ...names)
  return /\s/.test(path) ? `"${path}"` : path
}

/** Prints what is available once `up` is serving, and what to try next. */
export async function sayServing(
  { baseUrl, models, wallet }: Pick<LocalService, 'baseUrl' | 'models' | 'wallet'>,
  folder: DataFolder,
  output: Output,
  installedIn: string | null = null,
): Promise<string[]> {
  const [{ ownCommand }, { runLinesOf }, { tableLines }] = await Promise.all([
    import('#agent/words/typed-commands.ts'),
    import('../show/shell-settings.ts'),
    import('../show/table.ts'),
  ])
  const farebox = ownCommand()
  const place = inPlace(folder)
  const data = `--data ${place}`
  const modelRows = models.map(({ id, type }) => [id, type])
  return [
    '',
    `Serving at ${baseUrl} until Ctrl-C. Everything is kept in ${folder.root}.`,
    'Models:',
    ...tableLines({ rows: modelRows, indent: 2, isAligned: true }, output),
    ...(installedIn === null
      ? [
          'In another terminal:',
          '  # add farebox to your assistant, with a wallet that holds test money; without CLIENT, list the clients',
          `  ${farebox} install CLIENT --local ${place}`,
        ]
      : [
          askIt(installedIn),
          'In another terminal:',
          '  # see what your assistant paid',
          `  ${farebox} wallet receipts --data ${inPlace(folder, 'assistant')}`,
        ]),
    '  # create an API key with 5 USD of test credit',
    `  ${farebox} keys create --usd 5 ${data}`,
    '  # send test money to your own wallet',
    `  ${farebox} local fund ADDRESS --usd 25 ${data}`,
    '  # give the test wallet 2 USD of credit a day, spent before its USDC; answers show it as x-service-balance-diem',
    `  ${farebox} local stake ${wallet.address} --tokens 2 ${data}`,
    '  # set up your shell, so that your code and `farebox proxy` pay from the test wallet',
    `  ${runLinesOf(`${farebox} local env ${data}`)}`,
    '  # open the operators’ console in your browser: customers, charges, jobs',
    `  ${farebox} console ${data}`,
    '  # audit the ledger',
    `  ${farebox} ledger audit ${data}`,
  ]
}
