import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Agent, type Dispatcher, FormData, request as send } from 'undici'
import { isObject } from '#contract/wire/json.ts'
import { headBytes, type SniffedType, sniffType } from '#contract/wire/media-type.ts'
import { renameFile } from '#host/files.ts'
import { bytesWithin, unreachable } from '#host/network.ts'
import { readObject } from '../http/read-answer.ts'
import { authorization, urlOf } from '../http/upstream.ts'
import { codeOf } from '../http/upstream-error.ts'
import { idleConnectionMs, type JobUpstreamOptions, usualTimeouts } from '../http/upstream-options.ts'
import type { EngineState, JobProgress } from '../ports/media-engines.ts'
import { NotTaken, OnceSent } from './once-sent.ts'

/** Largest answer about a job, including a refusal. */
const jobAnswerBytes = 1024 * 1024

/** The largest video that an engine may return. */
const fetchedVideoBytes = 1024 * 1024 * 1024

/**
 * Timeout for fetching a video, counted from its headers: 36 Mbit/s for the largest. A caller that polls a job waits
 * longer than this.
 */
export const fetchedVideoMs = 240_000

/** How long a server may take to read a request with media in it and to accept or refuse the job. */
export const submissionMs = 180_000

/** How long it may take to report the state of a job. */
export const jobQuestionMs = 30_000

/**
 * After how many answers in a row that a job is missing or failed we believe them: some servers report that while they
 * start.
 */
const believedRefusals = 20

interface JobQuestion {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  /** Sent as JSON, or as a form. */
  body?: object
  headers?: Record<string, string>
  timeoutMs: number
  signal: AbortSignal
}

export type JobAnswer =
  | { kind: 'json'; status: number; body: Record<string, unknown> }
  /** Of a type other than JSON, unread: call `keep` or `drop`. */
  | { kind: 'file'; status: number; mimeType: string; response: FileResponse }

/** A file that has started to arrive, its body unread. */
interface FileResponse {
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: AsyncIterable<Buffer>
}

type Asked = Pick<Dispatcher.RequestOptions, 'method' | 'headers' | 'body'>

const jobPattern = /^[A-Za-z0-9-]{1,64}$/

/** A server that runs jobs: its key, its connections, and the folder for the videos that it returns. */
export class JobUpstream {
  readonly #options: JobUpstreamOptions
  readonly #headers: Record<string, string>
  readonly #host: string
  readonly #agent = new Agent({ keepAliveTimeout: idleConnectionMs, connect: { timeout: usualTimeouts.connectMs } })

  /** Throws one sentence if the address or the key is invalid. */
  constructor(options: JobUpstreamOptions) {
    this.#options = options
    this.#host = urlOf(options.baseUrl, '/').host
    this.#headers = authorization(options, this.#host)
  }

  /** Throws `NotTaken` if it could not connect, and any other error if it is unknown whether the request arrived. */
  async ask({ method, path, body, headers = {}, timeoutMs, signal }: JobQuestion): Promise<JobAnswer> {
    const isForm = body instanceof FormData
    try {
      return await this.#answer({ timeoutMs, signal }, urlOf(this.#options.baseUrl, path), {
        method,
        headers: { ...this.#headers, ...(body && !isForm ? { 'content-type': 'application/json' } : {}), ...headers },
        body: body === undefined ? null : isForm ? body : JSON.stringify(body),
      })
    } catch (error) {
      signal.throwIfAborted()
      this.#options.onProblem?.({ host: this.#host, status: null, code: codeOf(error) })
      throw unreachable.has(codeOf(error)) ? new NotTaken(error) : error
    }
  }

  /**
   * Fetches a file from a URL that the server gave us, such as a signed one. Sends no key and follows no redirect; uses
   * plain http only if the server itself is reached that way.
   */
  async askFor(address: string, signal: AbortSignal): Promise<JobAnswer> {
    const url = URL.canParse(address) ? new URL(address) : null
    const isSafe = url?.protocol === 'https:' || url?.origin === urlOf(this.#options.baseUrl, '/').origin
    if (!url || !isSafe) throw new Error('The engine returned a URL that is not allowed.')
    return this.#answer({ timeoutMs: jobQuestionMs, signal }, url, { method: 'GET' })
  }

  /** The request's timeout ends with the head of a file: its content is large, and has its own timeout. */
  async #answer({ timeoutMs, signal }: Pick<JobQuestion, 'timeoutMs' | 'signal'>, url: URL, asked: Asked) {
    const late = new AbortController()
    const giveUp = () => late.abort(new DOMException('The engine took too long.', 'TimeoutError'))
    const question = setTimeout(giveUp, timeoutMs)
    try {
      const response = await send(url, {
        ...asked,
        dispatcher: this.#agent,
        signal: AbortSignal.any([signal, late.signal]),
        headersTimeout: timeoutMs,
        bodyTimeout: usualTimeouts.silenceMs,
      })
      const answer = await read(response)
      if (answer.kind === 'file') {
        const file = setTimeout(giveUp, fetchedVideoMs).unref()
        response.body.once('close', () => clearTimeout(file))
      }
      return answer
    } finally {
      clearTimeout(question)
    }
  }

  /** Returns a job whose file this or an earlier process has written; null before that. */
  finished(jobId: string): JobProgress | null {
    for (const { extension, mimeType } of Object.values(this.#files)) {
      const path = this.#pathOf(jobId, extension)
      if (existsSync(path)) return { state: 'completed', path, mimeType }
    }
    return null
  }

  /**
   * Writes a file completely or not at all. Its type is detected from its bytes, because servers use one type for
   * everything they return.
   */
  async keep(jobId: string, { response }: Extract<JobAnswer, { kind: 'file' }>): Promise<JobProgress> {
    await mkdir(resolve(this.#options.workFolder), { recursive: true, mode: 0o700 })
    const part = this.#pathOf(jobId, `${randomBytes(4).toString('hex')}.part`)
    try {
      await writeBounded(part, response)
      const type = await sniffedOf(part)
      const kind = type === null ? undefined : this.#files[type]
      if (!kind) return { state: 'failed', reason: `The engine made no ${this.#fileWord}.` }
      const path = this.#pathOf(jobId, kind.extension)
      await renameFile(part, path)
      return { state: 'completed', path, mimeType: kind.mimeType }
    } finally {
      await rm(part, { force: true })
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  #pathOf(jobId: string, extension: string): string {
    if (!jobPattern.test(jobId)) throw new Error('A job id may contain only letters, digits and dashes.')
    return join(resolve(this.#options.workFolder), `${jobId}.${extension}`)
  }

  get #files(): HandedOver {
    return handedOver[this.#options.makes ?? 'video']
  }

  get #fileWord(): string {
    return this.#options.makes === 'audio' ? 'MP3, WAV or FLAC' : 'MP4'
  }
}

/**
 * Jobs on another server. A job whose file is on disk is finished, a job that was not sent yet is sent once, and any
 * other is polled.
 */
export abstract class UpstreamJobs<Call extends { jobId: string }> {
  protected readonly upstream: JobUpstream
  readonly #sent: OnceSent

  /** Throws one sentence if the address or the key is invalid. */
  constructor(options: JobUpstreamOptions, { knowsAgain }: { knowsAgain: boolean }) {
    this.upstream = new JobUpstream(options)
    this.#sent = new OnceSent({ knowsAgain })
  }

  async start({ jobId }: Call): Promise<JobProgress> {
    return this.upstream.finished(jobId) ?? this.#sent.begin()
  }

  async poll(call: Call, state: EngineState): Promise<JobProgress> {
    const kept = this.upstream.finished(call.jobId)
    if (kept) return this.#releasable(kept, call, state)
    if (this.#sent.isPending(state)) return this.#sent.step(call.jobId, state, () => this.submit(call))
    return this.#releasable(await this.look(call, state), call, state)
  }

  async close(): Promise<void> {
    await this.upstream.close()
  }

  /** Sends the job to the server. Throws `NotTaken` if it has certainly not accepted it. */
  protected abstract submit(call: Call): Promise<JobProgress>
  /** Polls a job that the server has accepted. */
  protected abstract look(call: Call, state: EngineState): Promise<JobProgress>
  /** Deletes the server's copy of a job's file, if it would keep it for long. */
  protected discard?(call: Call, state: EngineState): Promise<unknown>

  #releasable(progress: JobProgress, call: Call, state: EngineState): JobProgress {
    if (progress.state !== 'completed' || !this.discard) return progress
    const release = async () => {
      // The job is finished; a copy that stays only takes room at the server.
      await this.discard?.(call, state).catch(() => undefined)
    }
    return { ...progress, release }
  }
}

export const failedJob = (reason: string, contentPolicy?: true): JobProgress => ({
  state: 'failed',
  reason,
  ...(contentPolicy ? { contentPolicy } : {}),
})

/**
 * A job that the server does not have, or that failed without a reason; believed after several such answers in a row.
 */
export function lostJob(state: EngineState, reason: string): JobProgress {
  const refusals = Number(state.refusals ?? 0) + 1
  return refusals >= believedRefusals ? failedJob(reason) : { state: 'running', engineState: { ...state, refusals } }
}

/** The server has the job, which resets the count of such answers. */
export function runningJob({ refusals: _over, ...engineState }: EngineState): JobProgress {
  return { state: 'running', engineState }
}

/** What a job may return, by the type of its bytes. */
type HandedOver = Partial<Record<SniffedType, { extension: string; mimeType: string }>>

const mp4 = { extension: 'mp4', mimeType: 'video/mp4' }

const handedOver: Record<'video' | 'audio', HandedOver> = {
  // Some servers write a QuickTime brand into files that players treat as MP4.
  video: { 'video/mp4': mp4, 'video/quicktime': mp4 },
  audio: {
    'audio/mpeg': { extension: 'mp3', mimeType: 'audio/mpeg' },
    'audio/wav': { extension: 'wav', mimeType: 'audio/wav' },
    'audio/flac': { extension: 'flac', mimeType: 'audio/flac' },
  },
}

async function sniffedOf(path: string): Promise<SniffedType | null> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
    return sniffType(buffer.subarray(0, bytesRead))
  } finally {
    await file.close()
  }
}

async function read(response: Dispatcher.ResponseData): Promise<JobAnswer> {
  // A body that is abandoned reports an error that nothing waits for.
  response.body.on('error', () => undefined)
  const { statusCode: status, headers } = response
  const [mimeType = ''] = String(headers['content-type'] ?? '')
    .toLowerCase()
    .split(';')
  if (status === 200 && /^((?:video|audio)\/|application\/octet-stream)/.test(mimeType)) {
    return { kind: 'file', status, mimeType: mimeType.trim(), response }
  }
  const bytes = await bytesWithin(response.body, jobAnswerBytes)
  if (!bytes) throw new Error('The engine’s answer is too large.')
  const body = readObject(bytes.toString('utf8'))
  if (!body && status < 300 && status !== 204) throw new Error('The engine’s answer is not JSON.')
  return { kind: 'json', status, body: body ?? {} }
}

/** Synced to disk before it counts, because the engine's copy is deleted soon. */
async function writeBounded(path: string, { body, headers }: FileResponse): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  let bytes = 0
  try {
    for await (const piece of body) {
      bytes += piece.length
      if (bytes > fetchedVideoBytes) throw new Error('The engine’s video is too large.')
      // `write` may write only the beginning, for example of what a nearly full disk has room for.
      await file.writeFile(piece)
    }
    const said = Number(headers['content-length'] ?? bytes)
    if (bytes === 0 || bytes !== said) throw new Error('The engine’s video ended early.')
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Returns the text of an error in any of the shapes that services use. It is used to tell the kind of error, and never
 * shown to a caller.
 */
export function errorWords(body: Record<string, unknown>): string {
  const { error } = body
  const parts = isObject(error) ? [error.code, error.type, error.message] : [error, body.code, body.message]
  return parts.filter(part => typeof part === 'string').join(' ')
}
