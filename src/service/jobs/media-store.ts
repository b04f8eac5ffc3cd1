import { copyFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, syncFile, syncFolder } from '#host/files.ts'

/** Where finished media lie. Names are ours alone; nothing of a caller ever becomes a path. */
export interface MediaStore {
  /** Takes a file over, whole or not at all. Taking the same name again replaces it. */
  take(path: string, name: string): Promise<StoredMedia>
  find(name: string): Promise<StoredMedia | null>
  /** Deleting what is not there is fine. */
  delete(name: string): Promise<void>
}

export interface StoredMedia {
  path: string
  bytes: number
}

const namePattern = /^[a-z0-9-]+\.[a-z0-9]+$/

/** Media in one folder of this machine. */
export class FolderMediaStore implements MediaStore {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async take(path: string, name: string): Promise<StoredMedia> {
    const target = this.#pathOf(name)
    await makeFolder(this.#folder)
    // Its job is told as finished, and its input deleted, once this file is here.
    await syncFile(path)
    await rename(path, target).catch(error => copyAcross(error, path, target))
    await syncFolder(this.#folder)
    return { path: target, bytes: (await stat(target)).size }
  }

  async find(name: string): Promise<StoredMedia | null> {
    const path = this.#pathOf(name)
    const found = await stat(path).catch(() => null)
    return found?.isFile() ? { path, bytes: found.size } : null
  }

  async delete(name: string): Promise<void> {
    await rm(this.#pathOf(name), { force: true })
  }

  #pathOf(name: string): string {
    if (!namePattern.test(name)) throw new Error('A stored file has a name that this service never gives.')
    return join(this.#folder, name)
  }
}

/** The engine's folder may be on another disk, where a rename is refused. */
async function copyAcross(error: unknown, path: string, target: string): Promise<void> {
  if (!(error instanceof Error && 'code' in error && error.code === 'EXDEV')) throw error
  const part = `${target}.part`
  await copyFile(path, part)
  await syncFile(part)
  await rename(part, target)
  await rm(path, { force: true })
}
