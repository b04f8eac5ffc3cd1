import { readFile } from 'node:fs/promises'
import type { ConfigFault } from '#service/config/config-fault.ts'
import type { Config } from '#service/config/read-config.ts'
import { CliError } from '../command.ts'
import { defaultConfig } from '../data/data-folder.ts'
import type { Output } from '../output.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Throws a `CliError` where there is none, and `ConfigRefused` with what is wrong in it. */
export async function loadConfig(path: string, env: Environment): Promise<Config> {
  const { readConfig } = await import('#service/config/read-config.ts')
  return readConfig(await textOf(path), env)
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') {
      throw new CliError(
        `There is no ${path}.`,
        'Write a first one with `farebox init`, or name yours with `--config`.',
      )
    }
    throw new CliError(`${path} cannot be read (${code}).`, 'Check who may read it.')
  }
}

/** Tells every fault on a line of its own, then ends the command; other errors pass. */
export async function orTellFaults<Value>(path: string, output: Output, run: () => Promise<Value>): Promise<Value> {
  try {
    return await run()
  } catch (error) {
    const faults = faultsOf(error)
    if (!faults) throw error
    const { faultLine } = await import('#service/config/config-fault.ts')
    for (const fault of faults) output.note(faultLine(path, fault))
    const many = faults.length === 1 ? 'a fault' : `${faults.length} faults`
    const { inShell } = await import('#agent/words/typed-commands.ts')
    const named = path === defaultConfig ? '' : ` --config ${inShell(path)}`
    throw new CliError(`${path} has ${many}.`, `Fix it, then run \`farebox serve --check${named}\`.`)
  }
}

/** By its name, because loading the class would load what reads a configuration. */
export const faultsOf = (error: unknown): readonly ConfigFault[] | null =>
  error instanceof Error && error.name === 'ConfigRefused' ? (error as Error & { faults: ConfigFault[] }).faults : null
