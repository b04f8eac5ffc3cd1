import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { access, copyFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, renameFile, syncFile, syncFolder } from '#host/files.ts'
import type { JobState } from '#ledger/store/units.ts'

/** Stores finished media. The service chooses every name, so callers' text never becomes a path. */
export interface MediaStore {
  /** Stores a file completely or not at all. The same name replaces the earlier file. */
  take(path: string, name: string, upload?: Upload): Promise<StoredMedia>
  /** Null if the name does not exist; rejects if that cannot be found out. */
  find(name: string, signal?: AbortSignal): Promise<StoredMedia | null>
  /** Reads a file, or part of it. Nothing is opened before the first read. */
  read(name: string, part?: ReadPart): AsyncIterable<Uint8Array>
  /** Succeeds if the file does not exist. */
  delete(name: string): Promise<void>
  /** An address of the store that anyone may read for a limited time; null if the service delivers the file. */
  downloadUrl(name: string, grant: { expiresInMs: number; fileName: string }): Promise<string | null>
  /** Deletes files that crashes left of finished jobs. Returns their number. */
  sweep(statesOf: StatesOfJobs): Promise<number>
  /** Whether this place has the mark; `mark` writes it and `unmark` removes it. */
  isMarked(mark: string): Promise<boolean>
  mark(mark: string): Promise<void>
  unmark(mark: string): Promise<void>
  /** Throws `MediaUnusable` if files cannot be written, read and deleted here. */
  check(): Promise<void>
  /** The name of this place in messages to the operator, without a secret. */
  readonly place: string
}

export interface StoredMedia {
  bytes: number
}

export interface Upload {
  mimeType?: string
  /** Aborts the upload and leaves nothing behind. */
  signal?: AbortSignal
}

export interface ReadPart {
  /** The complete file by default. */
  range?: ByteRange
  /** Ends the reading. */
  signal?: AbortSignal
}

/** Bytes of a file, both ends included. */
export interface ByteRange {
  start: number
  end: number
}

/** Returns the states of those jobs that the ledger has. */
export type StatesOfJobs = (jobIds: readonly string[]) => Promise<ReadonlyMap<string, JobState>>

/** The configured media store cannot be used. */
export class MediaUnusable extends Error {
  /** The message names the problem and what to do. */
  readonly fact: string
  readonly nextStep: string

  constructor(fact: string, nextStep: string) {
    super(`${fact} ${nextStep}`)
    this.name = 'MediaUnusable'
    this.fact = fact
    this.nextStep = nextStep
  }
}

/** Files that are not media; their names contain their purpose and an id. */
export const markName = (mark: string): string => `farebox-media-${mark}`
export const probeStart = 'farebox-probe-'

/** Throws for a name that this service never creates. */
export function requireName(name: string): string {
  if (!namePattern.test(name)) throw new Error('A stored file has a name that this service never gives.')
  return name
}

const namePattern = /^[a-z0-9-]+\.[a-z0-9]+$/

/** Returns the job that a file belongs to; null for a file that is not ours. */
export const jobOfName = (name: string): string | null =>
  /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\./.exec(name)?.[1] ?? null

/** Whether a job will no longer write or need a file. */
export const isOver = (state: JobState | undefined): boolean => state === 'failed' || state === 'deleted'

/** Media in one folder, on this machine or on a volume that several machines mount. */
export class FolderMediaStore implements MediaStore {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  get place(): string {
    return `the folder ${this.#folder}`
  }

  async take(path: string, name: string): Promise<StoredMedia> {
    const target = this.#pathOf(name)
    await makeFolder(this.#folder)
    // Once this file exists, the job is reported as finished and its input is deleted.
    await syncFile(path)
    await renameFile(path, target).catch(error => copyAcross(error, path, target))
    await syncFolder(this.#folder)
    return { bytes: (await stat(target)).size }
  }

  async find(name: string): Promise<StoredMedia | null> {
    const found = await stat(this.#pathOf(name)).catch(error => {
      // If the folder cannot be read, the file may still be there.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    })
    return found?.isFile() ? { bytes: found.size } : null
  }

  read(name: string, { range, signal }: ReadPart = {}): AsyncIterable<Uint8Array> {
    const path = this.#pathOf(name)
    const part = { ...range, ...(signal ? { signal } : {}) }
    return { [Symbol.asyncIterator]: () => createReadStream(path, part)[Symbol.asyncIterator]() }
  }

  async delete(name: string): Promise<void> {
    await rm(this.#pathOf(name), { force: true })
  }

  async downloadUrl(): Promise<null> {
    return null
  }

  async sweep(statesOf: StatesOfJobs): Promise<number> {
    const names = await readdir(this.#folder).catch(() => [])
    const states = await statesOf(names.flatMap(name => jobOfName(name) ?? []))
    const left = names.filter(name => isOver(states.get(jobOfName(name) ?? '')))
    for (const name of left) await rm(join(this.#folder, name), { force: true })
    return left.length
  }

  async isMarked(mark: string): Promise<boolean> {
    return access(join(this.#folder, markName(mark))).then(
      () => true,
      () => false,
    )
  }

  async mark(mark: string): Promise<void> {
    await makeFolder(this.#folder)
    await writeFile(join(this.#folder, markName(mark)), '', { mode: 0o600, flush: true })
    await syncFolder(this.#folder)
  }

  async unmark(mark: string): Promise<void> {
    await rm(join(this.#folder, markName(mark)), { force: true })
  }

  async check(): Promise<void> {
    // Processes of two containers may have the same id.
    const probe = join(this.#folder, `${probeStart}${randomUUID()}`)
    try {
      await makeFolder(this.#folder)
      await writeFile(probe, '', { mode: 0o600 })
      await rm(probe)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new MediaUnusable(
        `The media folder ${this.#folder} cannot be written to (${code}).`,
        'Make it writable for this user, or set `media.folder` to another folder.',
      )
    }
  }

  #pathOf(name: string): string {
    return join(this.#folder, requireName(name))
  }
}

/** The engine's folder may be on another disk, where a rename is refused. */
async function copyAcross(error: unknown, path: string, target: string): Promise<void> {
  if (!(error instanceof Error && 'code' in error && error.code === 'EXDEV')) throw error
  const part = `${target}.part`
  await copyFile(path, part)
  await syncFile(part)
  await renameFile(part, target)
  await rm(path, { force: true })
}
