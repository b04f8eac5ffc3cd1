import { realpathSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { version } from '#contract/version.generated.ts'
import type { CommandIo } from '../command.ts'
import type { StartCommand } from './clients.ts'

/** Flags of `farebox mcp` that a client must pass on; never a passphrase itself. */
export interface CarriedFlags {
  tools?: string | undefined
  data?: string | undefined
  'passphrase-file'?: string | undefined
}

/** Until the name is ours on npm, `npx` would run someone else's package. */
const isOnNpm = false as boolean

/** npx unpacks a package temporarily, into a folder that it may delete. */
const isUnpackedByNpx = (path: string): boolean => path.includes(`${sep}_npx${sep}`)

/** Returns the warning for an installation that npx may delete; null for a permanent one. */
export const unpackedByNpx = ({ args: [launcher = ''] }: Pick<StartCommand, 'args'>): string | null =>
  isUnpackedByNpx(launcher)
    ? 'This copy of farebox was unpacked by npx and may be deleted: install farebox with `npm install -g`, then try again.'
    : null

/** Starts this installation by its path, because desktop programs have no usable PATH. */
export function startCommand(
  [program, launcher = '']: CommandIo['self'],
  flags: CarriedFlags,
): Omit<StartCommand, 'env'> {
  const path = realPath(launcher)
  const carried = Object.entries({
    '--tools': flags.tools,
    '--data': flags.data && resolve(flags.data),
    '--passphrase-file': flags['passphrase-file'] && resolve(flags['passphrase-file']),
  }).flatMap(([flag, value]) => (value ? [flag, value] : []))
  if (isOnNpm && isUnpackedByNpx(path)) return { command: 'npx', args: ['-y', `farebox@${version}`, 'mcp', ...carried] }
  return { command: lastingProgram(program), args: [path, 'mcp', ...carried] }
}

/** Homebrew deletes the folder of a release at an upgrade; this link to the current one stays. */
function lastingProgram(program: string): string {
  const [, prefix = '', formula = ''] = /^(.+)[/]Cellar[/](node(?:@\d+)?)[/][^/]+[/]bin[/]node$/.exec(program) ?? []
  const link = join(prefix, 'opt', formula, 'bin', 'node')
  return formula !== '' && realPath(link) === realPath(program) ? link : program
}

/** A link in a bin folder may point elsewhere after the next installation. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}

/**
 * Returns the service that this terminal's environment names; null if it names none, or if its address contains a
 * secret.
 */
export function serviceIn({ FAREBOX_BASE_URL }: CommandIo['env']): string | null {
  const given = FAREBOX_BASE_URL?.trim() ?? ''
  if (!URL.canParse(given)) return null
  const { protocol, username, password, search } = new URL(given)
  return /^https?:$/.test(protocol) && `${username}${password}${search}` === '' ? given : null
}

/** Whether an entry starts farebox, wherever it is installed. */
export function isOurs(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null) return false
  const { command, args } = entry as { command?: unknown; args?: unknown }
  const words = [command, args].flat().filter(word => typeof word === 'string')
  return words.includes('mcp') && words.some(word => ourProgram.test(word))
}

const ourProgram = /(?:^|[\\/])farebox(?:\.mjs|\.cmd|\.exe)?(?:@[\w.-]+)?$/
