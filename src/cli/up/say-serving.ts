import type { DataFolder } from '../data-folder.ts'
import type { LocalService } from './local-service.ts'

/** What a person has before them once `up` serves, and what to try next. */
export async function sayServing(
  { baseUrl, models, wallet }: Pick<LocalService, 'baseUrl' | 'models' | 'wallet'>,
  folder: DataFolder,
): Promise<string[]> {
  const { ownCommand } = await import('#agent/words/own-command.ts')
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
    '  # test money for a wallet of yours',
    `  ${farebox} local fund ADDRESS --usd 25 ${data}`,
    '  # 2 USD of credit each day for the test wallet, spent before its USDC; an answer shows it as x-service-balance-diem',
    `  ${farebox} local stake ${wallet.address} --tokens 2 ${data}`,
    '  # lets your programs, and the proxy, pay by the test wallet',
    `  eval "$(${farebox} local env ${data})"`,
    '  # adds the books up',
    `  ${farebox} ledger audit ${data}`,
  ]
}
