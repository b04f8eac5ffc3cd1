import { join } from 'node:path'
import { runCommand } from '../run-command.ts'

/** A key with 5 USD at the service that runs by the configuration of this folder. */
export async function createKeyIn(folder: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand([
    'keys',
    'create',
    '--usd',
    '5',
    '--data',
    join(folder, '.farebox'),
  ])
  if (code !== 0) throw new Error(stderr)
  return stdout.trim()
}
