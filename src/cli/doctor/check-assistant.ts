import type { AgentSettings } from '#agent/settings/settings.ts'
import { howToHaveService } from '#agent/words/explain.ts'
import type { CommandIo } from '../command.ts'
import { ask, broken, type Finding, type HttpAnswer, note, ok } from './finding.ts'

export interface AssistantFlags {
  /** Opens an encrypted wallet, if one was given. */
  passphrase: string | null
}

/** Checks what an assistant that is started on this machine with these settings would find; changes nothing. */
export async function checkAssistant(
  env: CommandIo['env'],
  { passphrase }: AssistantFlags,
): Promise<readonly Finding[]> {
  const [{ readSettings }, { dataFolderOf }] = await Promise.all([
    import('#agent/settings/settings.ts'),
    import('#agent/settings/wallet-settings.ts'),
  ])
  const { settings, problems } = readSettings(env)
  const ofSettings = [
    ...problems.map(problem => broken('settings', problem, 'Fix it in the assistant’s settings.')),
    ...(await unreadVariables(env)),
  ]
  const folder = dataFolderOf(settings.env)
  const found = await Promise.all([
    settingsOf(env, problems.length),
    toolsOf(settings),
    foldersOf(settings, folder),
    // If settings are invalid, nothing is called or opened.
    ...(problems.length > 0 ? [] : looks(settings, folder, passphrase)),
  ])
  return [...ofSettings, ...found.flat()]
}

function looks(settings: AgentSettings, folder: string, passphrase: string | null): Promise<readonly Finding[]>[] {
  return [
    import('./check-wallet.ts').then(({ checkPayer }) => checkPayer(settings, folder, passphrase)),
    import('./check-wallet.ts').then(({ checkCaps }) => checkCaps(settings.env, folder)),
    import('./check-wallet.ts').then(({ checkTransfers }) => checkTransfers(settings.env, folder)),
    checkService(settings),
  ]
}

/** Only names are shown, because some of their values are secrets. */
async function settingsOf(env: CommandIo['env'], problemCount: number): Promise<Finding[]> {
  const { isAgentVariable } = await import('#agent/settings/settings.ts')
  const names = Object.keys(env).filter(name => isAgentVariable(name) && env[name]?.trim())
  if (names.length === 0)
    return [
      note(
        'settings',
        'This terminal has no FAREBOX_ variables for an assistant.',
        'Only the assistant sees its own settings; set the same variables here to check them.',
      ),
    ]
  return problemCount > 0 ? [] : [ok('settings', `These are set and valid: ${names.toSorted().join(', ')}.`)]
}

async function unreadVariables(env: CommandIo['env']): Promise<Finding[]> {
  const { unreadVariables } = await import('#agent/settings/settings.ts')
  return unreadVariables(Object.keys(env)).map(({ name, near }) =>
    note(
      'settings',
      `farebox does not read ${name}.`,
      near === undefined ? 'Remove it, if it was meant for farebox.' : `Did you mean ${near}?`,
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
  const { mayBeMade } = await import('./check-machine.ts')
  const output = resolve(outputFolder ?? `${folder}/output`)
  const why = outputFolder === undefined ? 'because FAREBOX_OUTPUT_DIR is not set' : 'set by FAREBOX_OUTPUT_DIR'
  return [
    (await mayBeMade(output))
      ? ok('files', `Files are saved in ${output}, ${why}. Tools read files only from that folder.`)
      : broken(
          'files',
          `This user may not write to ${output}.`,
          'Give it write access, or set FAREBOX_OUTPUT_DIR to another folder.',
        ),
  ]
}

const check = 'service'

/** Services accept sign-ins from clocks that differ by less. */
const mostSkewMs = 60_000

/**
 * Checks whether the service is reachable, accepts the API key, and has the same time. A key is sent to no other
 * address.
 */
async function checkService({ env, apiKey }: AgentSettings): Promise<readonly Finding[]> {
  const { baseUrlOf, isServiceNamed } = await import('#agent/settings/wallet-settings.ts')
  const baseUrl = baseUrlOf(env).replace(/\/+$/, '')
  const namedBy = env.FAREBOX_BASE_URL !== undefined ? 'setting' : isServiceNamed(env) ? 'wallet' : 'default'
  const askedAtMs = Date.now()
  const answer = await ask(`${baseUrl}/models`)
  const there = whetherThere(answer, baseUrl, namedBy)
  if (there.state === 'broken') return [there]
  return [there, ...clockOf(answer, askedAtMs), ...(apiKey === undefined ? [] : [await keyAt(baseUrl, apiKey)])]
}

/** How the address of a service came about. */
const origins = {
  setting: '',
  wallet: ', the service that this wallet was created for,',
  default: ', the default without FAREBOX_BASE_URL,',
} as const

function whetherThere({ status, reason, body }: HttpAnswer, baseUrl: string, namedBy: keyof typeof origins): Finding {
  const address = `${baseUrl}${origins[namedBy]}`
  if (status === 0)
    return broken(
      check,
      `${address} does not answer (${reason}).`,
      {
        setting: 'Check FAREBOX_BASE_URL, and whether the service is running.',
        wallet: 'Check whether the service is running, or set FAREBOX_BASE_URL to another one.',
        default: `${howToHaveService().replace(/^s/, 'S')}.`,
      }[namedBy],
    )
  const isService = status === 200 && Array.isArray((body as { data?: unknown } | null)?.data)
  // Some services list their models only to callers, and a list may be longer than what is read of it.
  if (isService || status === 401 || status === 402 || (status === 200 && body === null))
    return ok(check, `${address} answers.`)
  return broken(
    check,
    `${address} answers ${status}, so it is not a service with this API.`,
    'Check FAREBOX_BASE_URL; it usually ends in /api/v1.',
  )
}

function clockOf({ atMs }: HttpAnswer, askedAtMs: number): Finding[] {
  if (atMs === null) return []
  const skewMs = atMs - askedAtMs
  if (Math.abs(skewMs) < mostSkewMs) return [ok('clock', 'It agrees with the service’s clock.')]
  const seconds = Math.round(Math.abs(skewMs) / 1_000)
  return [
    broken(
      'clock',
      `This machine is ${seconds} s ${skewMs > 0 ? 'behind' : 'ahead of'} the service.`,
      'Set the clock: until then, a wallet cannot sign in.',
    ),
  ]
}

async function keyAt(baseUrl: string, apiKey: string): Promise<Finding> {
  const { status } = await ask(`${baseUrl}/api_keys/rate_limits`, { headers: { authorization: `Bearer ${apiKey}` } })
  if (status === 200) return ok('api key', 'The service accepts it.')
  if (status === 401 || status === 403)
    return broken(
      'api key',
      `The service does not accept it (${status}).`,
      'Check FAREBOX_API_KEY; it must be a key of this service.',
    )
  return note(
    'api key',
    `The service did not report whether it accepts the key (${status}).`,
    'The first call will show whether it does.',
  )
}
