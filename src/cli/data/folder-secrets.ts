import { randomBytes } from 'node:crypto'
import { CliError } from '../command.ts'
import { type DataFolder, readFileIfThere, writePrivateFile } from './data-folder.ts'

/** The first one hashes and signs; the others are former ones, which are still accepted. */
export type Secrets = readonly [string, ...string[]]

const secretBytes = 32

/** Former secrets to keep: each makes looking up a key or link slightly slower. */
const mostFormerSecrets = 4

const newSecret = (): string => randomBytes(secretBytes).toString('base64url')

/** One per line, the current one first; null if no service was ever started here. */
export async function readFolderSecrets(folder: DataFolder): Promise<Secrets | null> {
  const text = await readFileIfThere(folder.secret)
  const [current, ...former] = (text ?? '').split('\n').flatMap(line => line.trim() || [])
  return current === undefined ? null : [current, ...former]
}

/** Returns the local service's secrets; one is created on first use. */
export async function folderSecrets(folder: DataFolder): Promise<Secrets> {
  const kept = await readFolderSecrets(folder)
  if (kept) return kept
  const made = [newSecret()] as const
  await writeFolderSecrets(folder, made)
  return made
}

export const writeFolderSecrets = (folder: DataFolder, secrets: Secrets): Promise<void> =>
  writePrivateFile(folder.secret, `${secrets.join('\n')}\n`)

/** Puts a new secret before the others. Throws if too many former ones are still kept. */
export async function rotateFolderSecret(folder: DataFolder): Promise<Secrets> {
  const former = await folderSecrets(folder)
  if (former.length > mostFormerSecrets) {
    throw new CliError(
      `There are ${former.length - 1} former secrets already.`,
      'Drop them first, with `farebox keys drop-secrets`.',
    )
  }
  const rotated: Secrets = [newSecret(), ...former]
  await writeFolderSecrets(folder, rotated)
  return rotated
}

/** The secrets for starting a service on a folder: from the environment if set, otherwise the folder's own. */
export const secretsToStart = (
  folder: DataFolder,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Secrets> | Secrets => (env.FAREBOX_SECRET ? environmentSecrets(env) : folderSecrets(folder))

/** Minimum length of `FAREBOX_SECRET`: a word could be guessed. */
const leastCharacters = 32

/** Returns the secrets of a service that runs on several machines, or whose operator stores them. */
export function environmentSecrets(env: Readonly<Record<string, string | undefined>>): Secrets {
  const { FAREBOX_SECRET: current = '', FAREBOX_FORMER_SECRET: former = '' } = env
  const wrong = [current, ...(former ? [former] : [])].some(secret => secret.trim().length < leastCharacters)
  if (!wrong) return [current.trim(), ...(former ? [former.trim()] : [])]
  throw new CliError(
    current === '' ? 'FAREBOX_SECRET is not set.' : 'FAREBOX_SECRET or FAREBOX_FORMER_SECRET is too short.',
    `Set it to the same value as the service: at least ${leastCharacters} random characters.`,
  )
}
