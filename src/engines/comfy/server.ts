import { randomUUID } from 'node:crypto'
import { Agent, type Dispatcher, FormData, request as send, WebSocket } from 'undici'
import { inferenceFailed, modelOffline, modelOverloaded } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { isObject } from '#contract/wire/json.ts'
import { bytesWithin } from '#host/network.ts'
import { readObject } from '../http/read-answer.ts'
import { authorization, urlOf } from '../http/upstream.ts'
import { codeOf, transportError } from '../http/upstream-error.ts'
import { idleConnectionMs, type UpstreamOptions, usualTimeouts } from '../http/upstream-options.ts'
import type { UploadedFile } from './workflow.ts'

/** Largest workflow; a hundred nodes take tens of kilobytes. */
export const workflowBytes = 4 * 1024 * 1024

/** Largest answer about a job, which repeats its workflow. */
const comfyAnswerBytes = 8 * 1024 * 1024

/** How long the server may take to answer a request or accept an image. */
export const comfyQuestionMs = 30_000

/** How many recent entries are searched for lost work: the server keeps ten thousand, each with its workflow. */
const comfyHistoryEntries = 32

/**
 * Largest list of them; work from the server's own page also contains an image of its workflow, some hundred kilobytes.
 */
const comfyHistoryBytes = 64 * 1024 * 1024

/** Time for an image from submission to its last byte, including its wait in the queue. */
export const comfyRunMs = 600_000

/** How often to poll for the end of work. The server announces it, but the announcement may get lost. */
export const comfyPollMs = 2_000

/** How often a video is restarted that the server has forgotten, because the server's queue is only in memory. */
export const comfyBeginnings = 3

/** A file that a node has made, as the server describes it. */
export interface MadeFile {
  filename: string
  subfolder: string
  type: string
}

type Found =
  | { state: 'waiting' }
  | { state: 'done'; files: readonly MadeFile[] }
  | { state: 'failed' }
  /** The server does not know it: it was restarted, or never accepted it. */
  | { state: 'unknown' }

interface Question {
  method?: 'GET' | 'POST'
  query?: Record<string, string>
  body?: object | FormData
  signal: AbortSignal
}

/** Calls one ComfyUI server through the API that its own page uses. */
export class ComfyServer {
  readonly #options: UpstreamOptions
  readonly #headers: Record<string, string>
  readonly #agent = new Agent({ keepAliveTimeout: idleConnectionMs, connect: { timeout: usualTimeouts.connectMs } })

  /** Throws one sentence if the address or the key is invalid. */
  constructor(options: UpstreamOptions) {
    this.#options = options
    this.#headers = authorization(options, urlOf(options.baseUrl, '/').host)
  }

  /** Notifies when work of this client ends. */
  watch(clientId: string): ComfyWatch {
    const url = urlOf(this.#options.baseUrl, '/ws')
    url.protocol = url.protocol.replace('http', 'ws')
    url.searchParams.set('clientId', clientId)
    return new ComfyWatch(url, { headers: this.#headers, dispatcher: this.#agent })
  }

  /**
   * Returns the name by which a workflow finds the file. As on ComfyUI's own page, audio and video use the upload route
   * of images.
   */
  async upload({ extension, mimeType, bytes }: UploadedFile, signal: AbortSignal): Promise<string> {
    const form = new FormData()
    form.set('image', new Blob([new Uint8Array(bytes)], { type: mimeType }), `farebox-${randomUUID()}.${extension}`)
    form.set('overwrite', 'true')
    const { name, subfolder } = await this.#json('/upload/image', { method: 'POST', body: form, signal })
    if (typeof name !== 'string' || name === '')
      throw new Error('The engine accepted a file but returned no name for it.')
    return typeof subfolder === 'string' && subfolder !== '' ? `${subfolder}/${name}` : name
  }

  /** Returns the work's id: ours, or one that an older server assigned. */
  async submit(workflow: object, { id, clientId }: { id: string; clientId: string }, signal: AbortSignal) {
    const body = { prompt: workflow, client_id: clientId, prompt_id: id, extra_data: { farebox_id: id } }
    const { prompt_id: given } = await this.#json('/prompt', { method: 'POST', body, signal })
    if (typeof given !== 'string' || given === '')
      throw new Error('The engine accepted a job but returned no id for it.')
    return given
  }

  /** Returns the state of the work. Reads the queue first, because work that leaves it in between is in the history. */
  async look(id: string, signal: AbortSignal): Promise<Found> {
    if (await this.#itemOf(id, signal)) return { state: 'waiting' }
    const history = await this.#json(`/history/${encodeURIComponent(id)}`, { signal })
    const entry = history[id]
    if (!isObject(entry)) return { state: 'unknown' }
    const status = isObject(entry.status) ? entry.status : {}
    if (status.status_str === 'error') return { state: 'failed' }
    return { state: 'done', files: filesOf(entry.outputs) }
  }

  /**
   * Returns the id of the work that we gave this name, whether it is queued or has ended; older servers assign their
   * own ids.
   */
  async findByOurs(ours: string, signal: AbortSignal): Promise<string | null> {
    const item = await this.#itemOf(ours, signal)
    if (item) return item.id
    const { state } = await this.look(ours, signal)
    return state === 'unknown' ? this.#endedByOurs(ours, signal) : ours
  }

  /** Removes the work from the queue, or interrupts it if it is running; interrupts nothing else. */
  async cancel(ours: string, signal: AbortSignal): Promise<void> {
    const item = await this.#itemOf(ours, signal)
    if (!item) return
    // Older servers interrupt whatever is running, so this is called only if our work is running.
    if (item.isRunning) await this.#post('/interrupt', { prompt_id: item.id }, signal)
    else await this.#post('/queue', { delete: [item.id] }, signal)
  }

  /** Returns the response with a file, unread. */
  async file({ filename, subfolder, type }: MadeFile, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    return this.#ask('/view', { query: { filename, subfolder, type }, signal })
  }

  async bytes(file: MadeFile, mostBytes: number, signal: AbortSignal): Promise<Buffer> {
    return readBounded(await this.file(file, signal), mostBytes)
  }

  /** Turns every failure into our own error; the caller's abort is passed on unchanged. */
  known(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason
    if (error instanceof ServiceError) return error
    this.#options.onProblem?.({ host: this.#host, status: null, code: codeOf(error) })
    return transportError(error)
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  get #host(): string {
    return urlOf(this.#options.baseUrl, '/').host
  }

  async #itemOf(ours: string, signal: AbortSignal) {
    return (await this.#items(signal)).find(({ id, extra }) => id === ours || extra.farebox_id === ours)
  }

  /** Each entry is a list: its number, id, workflow, extra data and output nodes. */
  async #items(signal: AbortSignal) {
    const { queue_running: running, queue_pending: pending } = await this.#json('/queue', { signal })
    const read = (list: unknown, isRunning: boolean) =>
      (Array.isArray(list) ? list : []).filter(Array.isArray).map(([, id, , extra]) => ({
        id: String(id),
        extra: isObject(extra) ? extra : {},
        isRunning,
      }))
    return [...read(running, true), ...read(pending, false)]
  }

  /** Finds ended work under the server's own id. An entry contains what was submitted, as in the queue. */
  async #endedByOurs(ours: string, signal: AbortSignal): Promise<string | null> {
    const query = { max_items: `${comfyHistoryEntries}` }
    const history = await this.#json('/history', { query, signal }, comfyHistoryBytes)
    const isOurs = (entry: unknown) => {
      const [, , , extra] = isObject(entry) && Array.isArray(entry.prompt) ? entry.prompt : []
      return isObject(extra) && extra.farebox_id === ours
    }
    return Object.entries(history).find(([, entry]) => isOurs(entry))?.[0] ?? null
  }

  async #post(path: string, body: object, signal: AbortSignal): Promise<void> {
    const { body: answer } = await this.#ask(path, { method: 'POST', body, signal })
    await answer.dump()
  }

  async #json(path: string, question: Question, mostBytes = comfyAnswerBytes): Promise<Record<string, unknown>> {
    const response = await this.#ask(path, question)
    const value = readObject((await readBounded(response, mostBytes)).toString('utf8'))
    if (!value) throw new Error('The engine’s answer is not JSON.')
    return value
  }

  async #ask(path: string, { method = 'GET', query = {}, body, signal }: Question): Promise<Dispatcher.ResponseData> {
    const url = urlOf(this.#options.baseUrl, path)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const isForm = body instanceof FormData
    const response = await send(url, {
      method,
      headers: { ...this.#headers, ...(body && !isForm ? { 'content-type': 'application/json' } : {}) },
      body: body === undefined ? null : isForm ? body : JSON.stringify(body),
      dispatcher: this.#agent,
      signal,
      headersTimeout: comfyQuestionMs,
      bodyTimeout: usualTimeouts.silenceMs,
    })
    // A body that is abandoned reports an error that nothing waits for.
    response.body.on('error', () => undefined)
    if (response.statusCode === 200) return response
    response.body.destroy()
    this.#options.onProblem?.({ host: this.#host, status: response.statusCode, code: '' })
    throw refusalOf(response.statusCode)
  }
}

/** A 400 is about the operator's workflow, which no caller wrote. */
function refusalOf(status: number) {
  if (status === 429 || status === 503) return modelOverloaded()
  return [401, 402, 403, 404, 405, 407].includes(status) ? modelOffline() : inferenceFailed()
}

/** Returns the files of all nodes; files that a node only previews count if nothing was saved. */
function filesOf(outputs: unknown): MadeFile[] {
  const lists = Object.values(isObject(outputs) ? outputs : {}).flatMap(node =>
    Object.values(isObject(node) ? node : {}),
  )
  const files = lists.flatMap(list => (Array.isArray(list) ? list : [])).flatMap(fileOf)
  const saved = files.filter(({ type }) => type === 'output')
  return saved.length ? saved : files
}

function fileOf(value: unknown): MadeFile[] {
  if (!isObject(value) || typeof value.filename !== 'string') return []
  const text = (member: unknown, otherwise: string) => (typeof member === 'string' ? member : otherwise)
  return [{ filename: value.filename, subfolder: text(value.subfolder, ''), type: text(value.type, 'output') }]
}

async function readBounded({ body }: Dispatcher.ResponseData, mostBytes: number): Promise<Buffer> {
  const bytes = await bytesWithin(body, mostBytes)
  if (!bytes) throw new Error('The engine’s answer is too large.')
  return bytes
}

/** Messages of a server that has stopped working on something; `executing` says so with a null node. */
const ends = new Set(['execution_success', 'execution_error', 'execution_interrupted'])

/**
 * Listens for the end of one client's work. A message only wakes a waiter, which then checks the state, because
 * messages and the connection may get lost.
 */
class ComfyWatch {
  readonly #socket: WebSocket
  #woken = Promise.withResolvers<void>()

  constructor(url: URL, options: { headers: Record<string, string>; dispatcher: Dispatcher }) {
    this.#socket = new WebSocket(url, options)
    this.#socket.addEventListener('message', ({ data }) => {
      // Binary messages are previews, which are ignored.
      if (typeof data === 'string' && isEnd(data)) this.#woken.resolve()
    })
    this.#socket.addEventListener('error', () => undefined)
  }

  /** Resolves when it is listening, or never will: work may end before its submission is answered. */
  async opened(signal: AbortSignal): Promise<void> {
    if (this.#socket.readyState !== WebSocket.CONNECTING) return
    const opened = Promise.withResolvers<void>()
    for (const name of ['open', 'error', 'close'] as const) this.#socket.addEventListener(name, () => opened.resolve())
    signal.addEventListener('abort', () => opened.resolve(), { once: true })
    await opened.promise
  }

  /** Resolves when a job has ended or the time is over, or when the caller aborts. */
  async next(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const over = Promise.withResolvers<void>()
    const timer = setTimeout(() => over.resolve(), timeoutMs)
    const leave = () => over.resolve()
    signal.addEventListener('abort', leave, { once: true })
    await Promise.race([this.#woken.promise, over.promise])
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
    this.#woken = Promise.withResolvers()
  }

  close(): void {
    this.#socket.close()
  }
}

function isEnd(text: string): boolean {
  const message = readObject(text)
  if (!message) return false
  const data = message.data as { node?: unknown } | null | undefined
  return ends.has(String(message.type)) || (message.type === 'executing' && data?.node === null)
}

interface WorkflowRun {
  server: ComfyServer
  /** The workflow with its values. */
  workflow: object
  /** How often to poll the server while also listening to it. */
  pollMs: number
  signal: AbortSignal
}

/** Runs a workflow while its caller waits. Throws `inferenceFailed` if it fails or is lost. */
export async function runWorkflow({ server, workflow, pollMs, signal }: WorkflowRun): Promise<readonly MadeFile[]> {
  const clientId = randomUUID()
  const watch = server.watch(clientId)
  let id = randomUUID() as string
  try {
    await watch.opened(signal)
    id = await server.submit(workflow, { id, clientId }, signal)
    for (;;) {
      signal.throwIfAborted()
      const found = await server.look(id, signal)
      if (found.state === 'done') return found.files
      // Work that the server no longer knows was lost in a restart.
      if (found.state !== 'waiting') throw inferenceFailed()
      await watch.next(pollMs, signal)
    }
  } catch (error) {
    // The caller has left; if cancelling fails, the work costs only its time.
    if (signal.aborted) server.cancel(id, AbortSignal.timeout(comfyPollMs * 5)).catch(() => undefined)
    throw error
  } finally {
    watch.close()
  }
}
