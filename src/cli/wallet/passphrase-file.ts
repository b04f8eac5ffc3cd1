import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CliError } from '../command.ts'

/** What systemd calls the credential: `LoadCredential=farebox-passphrase:…`. */
const credentialName = 'farebox-passphrase'

/** Longer than any passphrase; a file above it is the wrong one. */
const passphraseBytes = 4096

const readableByOthers = 0o077

/** The first line of the file that was named, else of the systemd credential; null where there is neither. */
export async function readPassphraseFile(
  file: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const credentials = env.CREDENTIALS_DIRECTORY
  const path = file ?? (credentials ? join(credentials, credentialName) : null)
  if (path === null) return null
  const found = await stat(path).catch(() => null)
  if (!found?.isFile()) {
    if (file === undefined) return null
    throw new CliError(`There is no file ${path}.`, 'Write the passphrase of the wallet into it, for your eyes alone.')
  }
  // What systemd hands over is protected by its folder; Windows has no such bits.
  if (file !== undefined && process.platform !== 'win32' && (found.mode & readableByOthers) !== 0) {
    throw new CliError(`Others may read ${path}.`, `Run \`chmod 600 ${path}\`, then start again.`)
  }
  if (found.size > passphraseBytes) throw new CliError(`${path} is too large for a passphrase.`, 'Name another file.')
  return (await readFile(path, 'utf8')).split(/\r?\n/)[0] ?? null
}
