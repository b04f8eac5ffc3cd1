import { dirname, join, resolve } from 'node:path'
import { isObject } from '#contract/wire/json.ts'
import { CliError } from '../command.ts'
import { configPath, type DataFolder, defaultConfig, defaultDataFolder, readFileIfThere } from './data-folder.ts'
import type { Secrets } from './folder-secrets.ts'
import { type LedgerPlace, ledgerPlaceOf } from './ledger-place.ts'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the service's folder and ledger: those of the given folder, or those of the configuration that `farebox
 * serve` would use here, or the default ones. Only these two settings and the secrets are read, so that an
 * otherwise invalid configuration does not block access to the ledger.
 */
export async function servicePlaceOf(data: string | undefined, env: Environment): Promise<LedgerPlace> {
  if (data !== undefined) {
    const place = await ledgerPlaceOf(data, env)
    return { ...place, ...(await secretsFor(place.folder, env)) }
  }
  const path = configPath(undefined, env)
  const text = await readFileIfThere(path)
  if (text === null) return ledgerPlaceOf(defaultDataFolder, env)
  const { secrets, ...places } = await settingsIn(path, text)
  const { data: folder, database } = await filledIn(path, places, env)
  const place = await ledgerPlaceOf(
    resolve(dirname(path), folder),
    database === undefined ? env : { ...env, DATABASE_URL: database },
  )
  return { ...place, ...configuredBy(path, secrets, env) }
}

/**
 * Returns the secrets of the configuration whose `data` is this folder: the one that `farebox serve` would use here, or
 * one beside or in the folder. A configuration that is invalid belongs to no folder.
 */
async function secretsFor({ root }: DataFolder, env: Environment): Promise<Pick<LedgerPlace, 'configured'>> {
  const beside = [dirname(root), root].map(folder => join(folder, defaultConfig))
  for (const path of new Set([configPath(undefined, env), ...beside].map(each => resolve(each)))) {
    const text = await readFileIfThere(path).catch(() => null)
    const read = text === null ? null : await settingsIn(path, text).catch(() => null)
    const places = read && (await filledIn(path, { data: read.data }, env).catch(() => null))
    if (places && resolve(dirname(path), places.data) === root) return configuredBy(path, read.secrets, env)
  }
  return {}
}

const configuredBy = (path: string, secrets: unknown, env: Environment): Pick<LedgerPlace, 'configured'> =>
  secrets === undefined ? {} : { configured: () => secretsIn(path, secrets, env) }

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

interface Places {
  data: string
  database?: string | undefined
}

/** Variables in the settings are not filled in yet. */
async function settingsIn(path: string, text: string): Promise<Places & { secrets: unknown }> {
  const { YamlFile } = await import('#service/config/yaml-file.ts')
  const wrong = () =>
    new CliError(`${path} cannot be read.`, `Run \`farebox serve --check\`, or give the folder with \`--data\`.`)
  let value: unknown
  try {
    ;({ value } = new YamlFile(text))
  } catch {
    throw wrong()
  }
  const { data = defaultDataFolder, database, secrets } = isObject(value) ? value : {}
  if (typeof data !== 'string' || (database !== undefined && typeof database !== 'string')) throw wrong()
  return { data, database, secrets }
}

async function filledIn(path: string, places: Places, env: Environment): Promise<Places> {
  if (!`${places.data}${places.database}`.includes('${')) return places
  const { fillIn } = await import('#service/config/read-config.ts')
  const filled = fillIn({ ...places }, env)
  const [fault] = filled.faults
  if (fault)
    throw new CliError(
      `${path}: ${fault.sentence}`,
      'Set it to the same value as for the service, or give the folder with `--data`.',
    )
  return filled.value as unknown as Places
}
