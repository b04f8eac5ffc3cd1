import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/** Where everything of one `farebox up` lies. */
export interface DataFolder {
  root: string
  database: string
  /** Where demonstration videos are drawn. */
  engines: string
  /** Written while a service runs here: its address and the token of its admin API. */
  admin: string
  /** Signs keys' hashes and download addresses of this local service. */
  secret: string
  /** The wallet, journal and files of the assistant. */
  agent: string
  output: string
}

export const defaultDataFolder = '.farebox'

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

/** A file that its owner alone may read, replaced whole. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await mkdir(resolve(path, '..'), { recursive: true, mode: 0o700 })
  const part = `${path}.part`
  await writeFile(part, text, { mode: 0o600 })
  await chmod(part, 0o600)
  await rename(part, path)
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
