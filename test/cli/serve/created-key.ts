import { join } from 'node:path'
import { runCommand } from '../run-command.ts'

/** A key with 5 USD at the service that runs by the configuration of this folder. */
export async function createKeyIn(folder: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const { code, stdout, stderr } = await runCommand(
    ['keys', 'create', '--usd', '5', '--data', join(folder, '.farebox')],
    env,
  )
  if (code !== 0) throw new Error(stderr)
  return stdout.trim()
}
