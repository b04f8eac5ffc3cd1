import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { isExecutable } from '#cli/assistants/machine.ts'

/** The first of these programs that a folder of the PATH has; null where none has. */
export function findProgram(...names: readonly string[]): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap(name => folders.map(folder => join(folder, name))).find(isExecutable) ?? null
}

/** Where Debian, Homebrew and hand-made installations keep PostgreSQL, newest first. */
const postgresFolders = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/pgsql']

/** The folder of `initdb` and `postgres`; null where this machine has none. */
export function findPostgres(): string | null {
  const inFolders = postgresFolders
    .filter(folder => existsSync(folder))
    .flatMap(folder => [join(folder, 'bin'), ...readdirSync(folder).map(version => join(folder, version, 'bin'))])
    .sort((one, other) => other.localeCompare(one, 'en', { numeric: true }))
  const onPath = (process.env.PATH ?? '').split(delimiter)
  return [...inFolders, ...onPath].find(folder => existsSync(join(folder, 'initdb'))) ?? null
}

export const findValkey = (): string | null => findProgram('valkey-server', 'redis-server')

/** The one without windows takes three fifths of the processor time of the whole browser, in the same tests. */
export const findChromium = (): string | null => findProgram('chromium-headless-shell', 'chromium', 'chromium-browser')
