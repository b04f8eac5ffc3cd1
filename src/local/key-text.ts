import { randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'

/** The text of a key file, which is made where there is none. Of two processes that begin at once both get the first one's. */
export async function readOrCreateKeys(path: string, newKeys: () => object): Promise<string> {
  return (await read(path)) ?? create(path, newKeys())
}

async function read(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Linked into place whole. */
async function create(path: string, keys: object): Promise<string> {
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  await writeFile(draft, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  try {
    await link(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return readFile(path, 'utf8')
}
