import { randomUUID } from 'node:crypto'
import { type FileHandle, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, hourMs } from '#contract/time.ts'
import { makeFolder, syncFolder } from '#host/files.ts'
import type { Log } from '#host/log.ts'
import { Slots } from '#host/workers/slots.ts'
import { Bucket, BucketError, isTransient } from './bucket.ts'
import { checkBucket, setLifecycle } from './bucket-start.ts'
import type { BucketMediaOptions } from './media-options.ts'
import {
  isOver,
  jobOfName,
  type MediaStore,
  markName,
  probeStart,
  type ReadPart,
  requireName,
  type StatesOfJobs,
  type StoredMedia,
  type Upload,
} from './media-store.ts'

interface Around {
  /** Notes of uploads in progress. They are on this machine, like the engines' files. */
  notes: string
  clock: Clock
  log: Log
}

/**
 * Media in an S3 bucket. An object's name comes from its job, whose row is written before the upload. So the process
 * that resumes a job after a crash finds the object, and the sweep finds objects of finished jobs.
 */
export class BucketMediaStore implements MediaStore {
  readonly #bucket: Bucket
  readonly #options: BucketMediaOptions
  readonly #around: Around
  readonly #uploads = new Slots(uploadsAtOnce, uploadsWaiting)

  constructor(options: BucketMediaOptions, around: Around) {
    this.#bucket = new Bucket(options)
    this.#options = options
    this.#around = around
  }

  get place(): string {
    const { prefix } = this.#options
    return `${this.#bucket.place}${prefix ? ` with the prefix ${prefix}` : ''}`
  }

  async check(): Promise<void> {
    await checkBucket(this.#bucket, `${this.#jobs}${probeStart}${randomUUID()}`)
    await setLifecycle(this.#bucket, this.#jobs, this.#around.log)
  }

  async take(path: string, name: string, { mimeType, signal }: Upload = {}): Promise<StoredMedia> {
    const key = this.#keyOf(name)
    const given = { ...(mimeType ? { mimeType } : {}), signal: signal ?? new AbortController().signal }
    return this.#uploads.run(async () => {
      // Written first: once the object exists, nothing else refers to the engine's file.
      const note = await this.#note(name, path)
      const { size } = await stat(path)
      await this.#upload(path, key, size, given)
      const stored = await this.#bucket.head(key)
      if (stored?.bytes !== size) throw new BucketError(`PUT of ${key}`, { status: 200, code: 'OtherSize' })
      await rm(path, { force: true })
      await rm(note, { force: true })
      return { bytes: size }
    }, given.signal)
  }

  async #upload(path: string, key: string, size: number, given: { mimeType?: string; signal: AbortSignal }) {
    const file = await open(path)
    try {
      if (size > partBytes) return await this.#uploadParts(file, key, size, given)
      await this.#bucket.put(key, await pieceOf(file, 0, size), given)
    } finally {
      await file.close()
    }
  }

  /** Ends an earlier upload whose process died; this process has the job's lease. */
  async #uploadParts(file: FileHandle, key: string, size: number, given: { mimeType?: string; signal: AbortSignal }) {
    const { signal } = given
    await this.#bucket.abortUploads(key, signal)
    const id = await this.#bucket.beginUpload(key, given)
    const bytes = Math.max(partBytes, Math.ceil(size / mostParts))
    try {
      const tags: string[] = []
      for (let start = 0; start < size; start += bytes) {
        const body = await pieceOf(file, start, Math.min(bytes, size - start))
        tags.push(await this.#bucket.putPart(key, { id, number: tags.length + 1, body, signal }))
      }
      await this.#bucket.endUpload(key, { id, tags, signal }).catch(error => this.#requireEnded(error, key, size))
    } catch (error) {
      // If the abort fails, the sweep or the bucket's rule aborts the upload later, like one that was given up while it
      // began.
      await this.#bucket.abortUpload(key, id).catch(() => undefined)
      throw error
    }
  }

  /**
   * After a lost answer it is unknown whether the upload ended, and a repeat would report an unknown upload. So the
   * object itself is checked.
   */
  async #requireEnded(error: unknown, key: string, size: number): Promise<void> {
    if ((await this.#bucket.head(key))?.bytes !== size) throw error
  }

  async #note(name: string, path: string): Promise<string> {
    await makeFolder(this.#around.notes)
    const note = join(this.#around.notes, `${name}.upload`)
    await writeFile(note, path, { mode: 0o600, flush: true })
    await syncFolder(this.#around.notes)
    return note
  }

  async find(name: string, signal?: AbortSignal): Promise<StoredMedia | null> {
    const found = await this.#bucket.head(this.#keyOf(name), signal)
    return found && { bytes: found.bytes }
  }

  /** Resumes a broken download: a restart takes less time than a caller waits. */
  async *read(name: string, { range, signal }: ReadPart = {}): AsyncGenerator<Uint8Array> {
    const key = this.#keyOf(name)
    let start = range?.start ?? 0
    let etag = ''
    for (let broken = 0; ; ) {
      try {
        const body = await this.#open(key, { start, end: range?.end, etag, signal })
        etag = body.etag
        for await (const piece of body.pieces) {
          start += piece.length
          broken = 0
          yield piece
        }
        return
      } catch (error) {
        signal?.throwIfAborted()
        if (++broken > resumes || (error instanceof BucketError && !isTransient(error))) throw error
        this.#around.log.warn({ object: name, fromByte: start }, 'The bucket interrupted a download; it is resumed.')
        await sleep(resumeMs, undefined, signal ? { signal } : {})
      }
    }
  }

  async #open(key: string, { start, end, etag, signal }: OpenPart) {
    const headers = { range: `bytes=${start}-${end ?? ''}`, ...(etag ? { 'if-match': etag } : {}) }
    const response = await this.#bucket.ask({ method: 'GET', key, headers, ...(signal ? { signal } : {}) })
    // Appending the complete file to the first part would corrupt the result.
    if (response.status !== 206) throw new BucketError(`GET of ${key}`, { status: response.status, code: 'NoRange' })
    return { etag: response.headers.get('etag') ?? '', pieces: response.body ?? [] }
  }

  async delete(name: string): Promise<void> {
    await this.#bucket.delete(this.#keyOf(name))
  }

  async downloadUrl(name: string, grant: { expiresInMs: number; fileName: string }): Promise<string | null> {
    const { downloadEndpoint: endpoint } = this.#options
    if (!endpoint) return null
    const query = { 'response-content-disposition': `attachment; filename="${grant.fileName}"` }
    return this.#bucket.presigned(this.#keyOf(name), {
      endpoint,
      seconds: Math.floor(grant.expiresInMs / 1_000),
      query,
    })
  }

  async isMarked(mark: string): Promise<boolean> {
    return (await this.#bucket.head(this.#options.prefix + markName(mark))) !== null
  }

  async mark(mark: string): Promise<void> {
    await this.#bucket.put(this.#options.prefix + markName(mark), '')
  }

  async unmark(mark: string): Promise<void> {
    await this.#bucket.delete(this.#options.prefix + markName(mark))
  }

  async sweep(statesOf: StatesOfJobs): Promise<number> {
    return (
      (await this.#sweepObjects(statesOf)) + (await this.#sweepUploads(statesOf)) + (await this.#sweepNotes(statesOf))
    )
  }

  async #sweepObjects(statesOf: StatesOfJobs): Promise<number> {
    const oldMs = this.#around.clock.now() - leftAfterMs
    let deleted = 0
    for await (const page of this.#bucket.list(this.#jobs, sweptPages)) {
      const states = await statesOf(page.flatMap(({ key }) => this.#jobOf(key) ?? []))
      const left = page.filter(
        ({ key, modifiedAtMs }) =>
          isOver(states.get(this.#jobOf(key) ?? '')) ||
          (key.startsWith(this.#jobs + probeStart) && modifiedAtMs < oldMs),
      )
      for (const { key } of left) await this.#bucket.delete(key)
      deleted += left.length
    }
    return deleted
  }

  /** Aborts uploads whose job is finished, or that are older than any upload takes. */
  async #sweepUploads(statesOf: StatesOfJobs): Promise<number> {
    const uploads = (await this.#bucket.uploads(this.#jobs)).filter(({ key }) => this.#jobOf(key))
    const states = await statesOf(uploads.flatMap(({ key }) => this.#jobOf(key) ?? []))
    const oldMs = this.#around.clock.now() - leftAfterMs
    const left = uploads.filter(({ key, atMs }) => {
      const state = states.get(this.#jobOf(key) ?? '')
      return state !== undefined && (isOver(state) || state === 'completed' || atMs < oldMs)
    })
    for (const { key, id } of left) await this.#bucket.abortUpload(key, id)
    return left.length
  }

  /** The engine's file of a job that another process has finished, or this one before it was killed. */
  async #sweepNotes(statesOf: StatesOfJobs): Promise<number> {
    const { notes } = this.#around
    const names = (await readdir(notes).catch(() => [])).filter(name => name.endsWith('.upload'))
    const states = await statesOf(names.flatMap(name => jobOfName(name) ?? []))
    const left = names.filter(name => {
      const state = states.get(jobOfName(name) ?? '')
      return isOver(state) || state === 'completed'
    })
    for (const name of left) {
      await rm(await readFile(join(notes, name), 'utf8'), { force: true })
      await rm(join(notes, name), { force: true })
    }
    return left.length
  }

  #jobOf(key: string): string | null {
    return jobOfName(key.slice(this.#jobs.length))
  }

  #keyOf(name: string): string {
    return this.#jobs + requireName(name)
  }

  /** Files are kept apart from the marks, which never expire. */
  get #jobs(): string {
    return `${this.#options.prefix}jobs/`
  }
}

interface OpenPart {
  start: number
  /** The end of the object by default. */
  end: number | undefined
  /** The object that was read before; empty at first. */
  etag: string
  signal: AbortSignal | undefined
}

async function pieceOf(file: FileHandle, position: number, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const piece = new Uint8Array(bytes)
  for (let at = 0; at < bytes; ) {
    const { bytesRead } = await file.read(piece, at, bytes - at, position + at)
    if (bytesRead === 0) throw new Error('A finished file became shorter while it was uploaded.')
    at += bytesRead
  }
  return piece
}

/** One part of an upload. It is held in memory, because its hash is signed. S3 allows 10,000 parts. */
export const partBytes = 8 * 1024 * 1024
const mostParts = 10_000

/** Concurrent uploads of one process, each with a part in memory. Jobs wait for their turn; others try again later. */
const uploadsAtOnce = 4
const uploadsWaiting = 1_000

/** How often a stalled download is resumed in a row, and after which delay. */
const resumes = 5
const resumeMs = 1_000

/** Older probes and multipart uploads were left by a crash. */
const leftAfterMs = 2 * hourMs

/** Pages of 1,000 objects that one sweep reads, which is more than one bucket's videos of a day. */
const sweptPages = 1_000
