import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { renameFile } from '#host/files.ts'
import { FfmpegMissing, videoEncoders } from '#host/media/ffmpeg.ts'
import type { RunMediaTask } from '#host/media/media-workers.ts'
import { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import { carriesAll } from '../ports/engine.ts'
import type { EngineState, JobProgress, VideoCall, VideoEngine } from '../ports/media-engines.ts'
import { isVideoFormat, mediaFormat } from '../video-media/media-limits.ts'
import { drawCaption } from './caption.ts'
import {
  type DrawnMedia,
  drawingPlan,
  drawnMedia,
  drawnVideo,
  EncodeFailed,
  encode,
  encodedBytes,
  encodeMs,
  type Upscaling,
  upscaling,
  type VideoDrawing,
} from './video-drawing.ts'

/** Concurrent encodes; the machine also serves requests. */
const encodesAtOnce = 2

/** Jobs that may wait for an encoder; further ones are refused with Retry-After. */
const encodesWaiting = 1_000

/**
 * Failures that are remembered until their job is polled. The oldest are dropped, and those jobs would be tried again.
 */
const rememberedFailures = 1_000

export interface DemoVideoOptions {
  /** Finished videos are here as `JOB.mp4` until the caller takes them. */
  workFolder: string
  /** Replaces the file that the media process runs; for tests. */
  program?: string
  atOnce?: number
  /** The encoder's own output when it failed; for a log, never for a caller. */
  onComplaint?: (jobId: string, complaint: string) => void
}

const jobPattern = /^[A-Za-z0-9-]{1,64}$/

/**
 * Draws and encodes real videos. A job's finished file is its only record: after a restart, a finished file is found,
 * and an unfinished one is made again.
 */
export class DemoVideo implements VideoEngine {
  readonly carries = carriesAll
  readonly #workFolder: string
  readonly #onComplaint: (jobId: string, complaint: string) => void
  readonly #ffmpeg: Ffmpeg
  readonly #active = new Map<string, Promise<void>>()
  readonly #failures = new Map<string, string>()
  readonly #closing = new AbortController()

  constructor(options: DemoVideoOptions) {
    this.#workFolder = resolve(options.workFolder)
    this.#onComplaint = options.onComplaint ?? (() => undefined)
    this.#ffmpeg = new Ffmpeg({
      ...{ atOnce: options.atOnce ?? encodesAtOnce, waiting: encodesWaiting, timeoutMs: encodeMs, isPatient: true },
      ...(options.program ? { program: options.program } : {}),
    })
  }

  async start(call: VideoCall): Promise<JobProgress> {
    return this.#progress(call)
  }

  async poll(call: VideoCall, _engineState: EngineState): Promise<JobProgress> {
    return this.#progress(call)
  }

  /** Stops all encoders; their jobs start again with the next poll. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#active.values())
  }

  #progress(call: VideoCall): JobProgress {
    const { jobId, signal } = call
    signal.throwIfAborted()
    this.#closing.signal.throwIfAborted()
    if (!jobPattern.test(jobId)) throw new Error('A job id may contain only letters, digits and dashes.')
    const reason = this.#failures.get(jobId)
    if (reason !== undefined) return { state: 'failed', reason }
    const path = this.#pathOf(jobId)
    if (!this.#active.has(jobId)) {
      if (existsSync(path)) return { state: 'completed', path, mimeType: 'video/mp4' }
      if (this.#ffmpeg.full) throw new Error('Too many videos are queued for the encoder.')
      this.#begin(call)
    }
    return { state: 'running', engineState: {} }
  }

  #pathOf(jobId: string): string {
    return join(this.#workFolder, `${jobId}.mp4`)
  }

  #begin(call: VideoCall): void {
    const work = this.#ffmpeg
      .require(videoEncoders)
      .then(() => this.#ffmpeg.turn(run => this.#make(run, call), this.#closing.signal))
      .catch((error: unknown) => this.#fail(call.jobId, error))
      .finally(() => this.#active.delete(call.jobId))
    this.#active.set(call.jobId, work)
  }

  #fail(jobId: string, error: unknown): void {
    if (this.#closing.signal.aborted) return
    const known = error instanceof EncodeFailed || error instanceof FfmpegMissing
    this.#onComplaint(jobId, error instanceof EncodeFailed ? error.complaint : String(error))
    this.#failures.set(jobId, known ? error.message : 'The video could not be written.')
    const [oldest] = this.#failures.keys()
    if (this.#failures.size > rememberedFailures && oldest !== undefined) this.#failures.delete(oldest)
  }

  async #make(run: RunMediaTask, { jobId, request }: VideoCall): Promise<void> {
    this.#closing.signal.throwIfAborted()
    const folder = await this.#freshFolder(jobId)
    try {
      const outputPath = join(folder, 'video.mp4')
      const work = request.upscale_factor
        ? upscaling(await prepareUpscale(folder, outputPath, request, request.upscale_factor))
        : drawnVideo(await prepare(folder, outputPath, request))
      await encode(run, work)
      await settle(outputPath)
      await renameFile(outputPath, this.#pathOf(jobId))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** An encoder that outlived its service may still write to an earlier folder, so each attempt has its own. */
  async #freshFolder(jobId: string): Promise<string> {
    await mkdir(this.#workFolder, { recursive: true, mode: 0o700 })
    const earlier = (await readdir(this.#workFolder)).filter(
      name => name.startsWith(`${jobId}.`) && name.endsWith('.part'),
    )
    for (const name of earlier) await rm(join(this.#workFolder, name), { recursive: true, force: true })
    const folder = join(this.#workFolder, `${jobId}.${randomBytes(4).toString('hex')}.part`)
    await mkdir(folder, { mode: 0o700 })
    return folder
  }
}

/** Writes the encoder's input files. */
async function prepare(folder: string, outputPath: string, request: VideoCall['request']): Promise<VideoDrawing> {
  const plan = drawingPlan(request)
  const media = await drawnMedia(folder, request)
  const caption = drawCaption(wordsOf(request, media), plan)
  const captionPath = join(folder, 'caption.rgba')
  await writeFile(captionPath, caption.rgba)
  return {
    plan,
    caption,
    captionPath,
    media,
    outputPath,
  }
}

/** The prompt, the negative prompt, and the names of the tiles in order. */
function wordsOf({ prompt, negative_prompt: negative }: VideoCall['request'], { tiles }: DrawnMedia): string {
  const names = [...new Set(tiles.map(({ name }) => name))]
  return [
    prompt,
    ...(negative ? [`(without ${negative})`] : []),
    ...(names.length ? [`[${names.join(', ')}]`] : []),
  ].join(' ')
}

/** Writes the encoder's input for upscaling. The video arrived complete, in a format that was known. */
async function prepareUpscale(
  folder: string,
  outputPath: string,
  { video_url: url = '' }: VideoCall['request'],
  factor: Upscaling['factor'],
): Promise<Upscaling> {
  const bytes = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')
  const format = mediaFormat(bytes)
  if (format === null || !isVideoFormat(format)) throw new EncodeFailed('The video cannot be read.', 'unknown format')
  const sourcePath = join(folder, 'source')
  await writeFile(sourcePath, bytes)
  return { sourcePath, format, factor, outputPath }
}

/** Synced to disk before it counts as finished; a file that reached the size limit is truncated. */
async function settle(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    const { size } = await file.stat()
    if (size === 0) throw new EncodeFailed('The video encoder wrote an empty file.', '0 bytes')
    if (size >= encodedBytes * 0.99) throw new EncodeFailed('The video became too large.', `${size} bytes`)
    await file.sync()
  } finally {
    await file.close()
  }
}
