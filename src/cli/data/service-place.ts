import { dirname, resolve } from 'node:path'
import { CliError } from '../command.ts'
import { configPath, defaultDataFolder, readFileIfThere } from './data-folder.ts'
import type { Secrets } from './folder-secrets.ts'
import { type LedgerPlace, ledgerPlaceOf } from './ledger-place.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the service's folder and ledger: those of the given folder, or those of the configuration that `farebox
 * serve` would use here, or the default ones. Only these two settings and the secrets are read, so that an
 * otherwise invalid configuration does not block access to the ledger.
 */
export async function servicePlaceOf(data: string | undefined, env: Environment): Promise<LedgerPlace> {
  if (data !== undefined) return ledgerPlaceOf(data, env)
  const path = configPath(undefined, env)
  const text = await readFileIfThere(path)
  if (text === null) return ledgerPlaceOf(defaultDataFolder, env)
  const { folder, database, secrets } = await settingsIn(path, text, env)
  const place = await ledgerPlaceOf(
    resolve(dirname(path), folder),
    database === undefined ? env : { ...env, DATABASE_URL: database },
  )
  return secrets === undefined ? place : { ...place, configured: () => secretsIn(path, secrets, env) }
}

/** Only commands that need the secrets need their variables. */
async function secretsIn(path: string, secrets: unknown, env: Environment): Promise<Secrets> {
  const [{ fillIn }, { ConfigFile }] = await Promise.all([
    import('#service/config/read-config.ts'),
    import('#service/config/config-schema.ts'),
  ])
  const filled = fillIn({ secrets }, env)
  const read = ConfigFile.shape.secrets.safeParse((filled.value as { secrets: unknown }).secrets)
  const sentence = filled.faults[0]?.sentence ?? (read.data ? null : '`secrets` is not a list of secrets.')
  if (sentence === null && read.data) return read.data
  throw new CliError(`${path}: ${sentence}`, 'Set it to the same value as for the service.')
}

async function settingsIn(path: string, text: string, env: Environment) {
  const { YamlFile } = await import('#service/config/yaml-file.ts')
  const wrong = () =>
    new CliError(`${path} cannot be read.`, `Run \`farebox serve --check\`, or give the folder with \`--data\`.`)
  let value: unknown
  try {
    ;({ value } = new YamlFile(text))
  } catch {
    throw wrong()
  }
  const settings = typeof value === 'object' && value !== null ? value : {}
  const { data = defaultDataFolder, database, secrets } = settings as Record<string, unknown>
  if (typeof data !== 'string' || (database !== undefined && typeof database !== 'string')) throw wrong()
  if (!`${data}${database}`.includes('${')) return { folder: data, database, secrets }
  const { fillIn } = await import('#service/config/read-config.ts')
  const filled = fillIn({ data, database }, env)
  const [fault] = filled.faults
  if (fault)
    throw new CliError(
      `${path}: ${fault.sentence}`,
      'Set it to the same value as for the service, or give the folder with `--data`.',
    )
  const { data: folder, database: place } = filled.value as { data: string; database?: string }
  return { folder, database: place, secrets }
}
