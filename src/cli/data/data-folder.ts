import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { makeFolder, renameFile, syncFile, syncFolder } from '#host/files.ts'

/** The layout of the data folder of `farebox up`. */
export interface DataFolder {
  root: string
  database: string
  /** Where demonstration videos are drawn. */
  engines: string
  /** Written while a service runs here: its address and the token of its admin API. */
  admin: string
  /** Hashes keys and signs download links of this local service. */
  secret: string
  /** The assistant's wallet, journal and files. */
  agent: string
  output: string
}

export const defaultDataFolder = '.farebox'

export const defaultConfig = 'farebox.yaml'

/** Returns the configuration's path: as given, from FAREBOX_CONFIG, or in the working folder. */
export const configPath = (given: string | undefined, env: Readonly<Record<string, string | undefined>>): string =>
  given ?? (env.FAREBOX_CONFIG || defaultConfig)

export function dataFolder(path: string): DataFolder {
  const root = resolve(path)
  return {
    root,
    database: join(root, 'service', 'farebox.db'),
    engines: join(root, 'service', 'engines'),
    admin: join(root, 'service', 'admin.json'),
    secret: join(root, 'service', 'secret'),
    agent: join(root, 'agent'),
    output: join(root, 'output'),
  }
}

/** Replaces a file that only its owner may read. Once this resolves, the new one survives a power loss. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await makeFolder(dirname(path))
  const part = `${path}.part`
  await writeFile(part, text, { mode: 0o600 })
  await chmod(part, 0o600)
  await syncFile(part)
  await renameFile(part, path)
  await syncFolder(dirname(path))
}

export const removeFile = (path: string): Promise<void> => rm(path, { force: true })

export async function readFileIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
