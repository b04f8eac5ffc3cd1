import type { AgentSettings } from '#agent/settings/settings.ts'
import type { CommandIo } from '../command.ts'
import { broken, type Finding, note, ok } from './finding.ts'

export interface AssistantFlags {
  /** Opens an encrypted wallet, where one was given. */
  passphrase: string | null
}

/** What an assistant on this machine would find who is started with these settings: all of it, and nothing is changed. */
export async function lookAtAssistant(
  env: CommandIo['env'],
  { passphrase }: AssistantFlags,
): Promise<readonly Finding[]> {
  const [{ readSettings }, { stateFolderOf }] = await Promise.all([
    import('#agent/settings/settings.ts'),
    import('#agent/settings/wallet-settings.ts'),
  ])
  const { settings, problems } = readSettings(env)
  const told = [
    ...problems.map(problem => broken('settings', problem, 'Fix it in the settings that start the assistant.')),
    ...(await unreadVariables(env)),
  ]
  const folder = stateFolderOf(settings.env)
  const found = await Promise.all([
    settingsOf(env, problems.length),
    toolsOf(settings),
    foldersOf(settings, folder),
    // What is not sound is neither asked nor opened.
    ...(problems.length > 0 ? [] : looks(settings, folder, passphrase)),
  ])
  return [...told, ...found.flat()]
}

function looks(settings: AgentSettings, folder: string, passphrase: string | null): Promise<readonly Finding[]>[] {
  return [
    import('./look-at-wallet.ts').then(({ lookAtPayer }) => lookAtPayer(settings, folder, passphrase)),
    import('./look-at-wallet.ts').then(({ lookAtCaps }) => lookAtCaps(settings.env, folder)),
    import('./look-at-service.ts').then(({ lookAtService }) => lookAtService(settings)),
  ]
}

/** Names alone: some of their values are secrets. */
async function settingsOf(env: CommandIo['env'], problemCount: number): Promise<Finding[]> {
  const { isAgentVariable } = await import('#agent/settings/unknown-variables.ts')
  const names = Object.keys(env).filter(name => isAgentVariable(name) && env[name]?.trim())
  if (names.length === 0)
    return [
      note(
        'settings',
        'No FAREBOX_ variable of an assistant is set in this terminal.',
        'What stands in the settings of an assistant is seen by that assistant alone: set the same here to have it looked at.',
      ),
    ]
  return problemCount > 0 ? [] : [ok('settings', `They can be read: ${names.toSorted().join(', ')}.`)]
}

async function unreadVariables(env: CommandIo['env']): Promise<Finding[]> {
  const { unreadVariables } = await import('#agent/settings/unknown-variables.ts')
  return unreadVariables(Object.keys(env)).map(({ name, near }) =>
    note(
      'settings',
      `Nothing reads ${name}.`,
      near === undefined ? 'Remove it, if it was meant for farebox.' : `${near} is the nearest name.`,
    ),
  )
}

async function toolsOf({ tools }: AgentSettings): Promise<Finding[]> {
  const [{ chooseTools }, { listing }] = await Promise.all([
    import('#mcp/listing.ts'),
    import('#mcp/listing.generated.ts'),
  ])
  try {
    const chosen = chooseTools(listing, tools).tools.map(({ name }) => name)
    const why = tools === undefined ? 'the default ones' : 'chosen by FAREBOX_TOOLS'
    return [ok('tools', `${chosen.length}, ${why}: ${chosen.join(', ')}.`)]
  } catch (error) {
    return [broken('tools', (error as Error).message, 'Fix FAREBOX_TOOLS.')]
  }
}

async function foldersOf({ outputFolder }: AgentSettings, folder: string): Promise<Finding[]> {
  const { resolve } = await import('node:path')
  const { mayBeMade } = await import('./look-at-folders.ts')
  const output = resolve(outputFolder ?? `${folder}/output`)
  const why = outputFolder === undefined ? 'as FAREBOX_OUTPUT_DIR is not set' : 'by FAREBOX_OUTPUT_DIR'
  return [
    (await mayBeMade(output))
      ? ok('files', `They are saved in ${output}, ${why}, and a tool reads files from there and from nowhere else.`)
      : broken(
          'files',
          `This user may not write in ${output}.`,
          'Let it, or set FAREBOX_OUTPUT_DIR to another folder.',
        ),
  ]
}
