import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder of nobody else's, for as long as it is used; `name` tells whoever finds one after a crash what it was for. */
export async function inFolder<Value>(name: string, use: (folder: string) => Promise<Value>): Promise<Value> {
  const folder = await mkdtemp(join(tmpdir(), `farebox-${name}-`))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Bytes as a file, for a program that opens one by its name, or that has to jump in it. */
export const inFile = <Value>(name: string, bytes: Buffer, use: (path: string) => Promise<Value>): Promise<Value> =>
  inFolder(name, async folder => {
    const path = join(folder, name)
    await writeFile(path, bytes, { mode: 0o600 })
    return use(path)
  })
