import type { Balance } from '#ledger/store/store.ts'

export const databaseName = 'farebox.db'

/** Beside the database, so that the recording tells what was acknowledged when. */
export const acknowledgedName = 'acknowledged'

export interface Acknowledged {
  id: string
  /** As text: they are compared with what the same unit answers again. */
  balances: string
}

export const balancesText = (balances: readonly Balance[]): string =>
  balances.map(({ account, posted, held }) => `${account}=${posted}/${held}`).join(',')

export const sayAcknowledged = ({ id, balances }: { id: string; balances: readonly Balance[] }): string =>
  `${id} ${balancesText(balances)}\n`

export function readAcknowledged(text: string): Acknowledged[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map(line => {
      const [id = '', balances = ''] = line.split(' ')
      return { id, balances }
    })
}
