import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stopped } from './decide.ts'
import { WalletRefusal } from './refusal.ts'

/** While a file of this name lies in the data folder, nothing is signed and nothing is sent. */
export const stopFileName = 'stop'

export const isStopped = (folder: string): boolean => existsSync(join(folder, stopFileName))

export function refuseWhenStopped(folder: string): void {
  if (isStopped(folder)) throw new WalletRefusal(stopped)
}
