import { randomUUID } from 'node:crypto'
import { Agent, type Dispatcher, FormData, request as send } from 'undici'
import { inferenceFailed, modelOffline, modelOverloaded } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { bytesWithin } from '#host/bytes-within.ts'
import * as bounds from '../bounds.ts'
import { isObject, readObject } from '../openai/read-answer.ts'
import { authorization, urlOf } from '../openai/upstream.ts'
import { codeOf, transportError } from '../openai/upstream-error.ts'
import type { UpstreamOptions } from '../openai/upstream-options.ts'
import { comfyAnswerBytes, comfyHistoryBytes, comfyHistoryEntries, comfyQuestionMs } from './bounds.ts'
import { ComfyWatch } from './watch.ts'
import type { UploadedFile } from './workflow.ts'

/** A file that a node has made, in the server's words. */
export interface MadeFile {
  filename: string
  subfolder: string
  type: string
}

export type Found =
  | { state: 'waiting' }
  | { state: 'done'; files: readonly MadeFile[] }
  | { state: 'failed' }
  /** The server does not know it: it has been started anew, or never took it. */
  | { state: 'unknown' }

interface Question {
  method?: 'GET' | 'POST'
  query?: Record<string, string>
  body?: object | FormData
  signal: AbortSignal
}

/** One ComfyUI, by the calls that its own page makes. */
export class ComfyServer {
  readonly #options: UpstreamOptions
  readonly #headers: Record<string, string>
  readonly #agent = new Agent({ keepAliveTimeout: bounds.idleConnectionMs, connect: { timeout: bounds.connectMs } })

  /** Throws one sentence where the address or the key cannot be used. */
  constructor(options: UpstreamOptions) {
    this.#options = options
    this.#headers = authorization(options, urlOf(options.baseUrl, '/').host)
  }

  /** Told when work of this client ends. */
  watch(clientId: string): ComfyWatch {
    const url = urlOf(this.#options.baseUrl, '/ws')
    url.protocol = url.protocol.replace('http', 'ws')
    url.searchParams.set('clientId', clientId)
    return new ComfyWatch(url, { headers: this.#headers, dispatcher: this.#agent })
  }

  /** The name under which a workflow finds the file; ComfyUI's own page sends sound and video by the route of images too. */
  async upload({ extension, mimeType, bytes }: UploadedFile, signal: AbortSignal): Promise<string> {
    const form = new FormData()
    form.set('image', new Blob([new Uint8Array(bytes)], { type: mimeType }), `farebox-${randomUUID()}.${extension}`)
    form.set('overwrite', 'true')
    const { name, subfolder } = await this.#json('/upload/image', { method: 'POST', body: form, signal })
    if (typeof name !== 'string' || name === '') throw new Error('The engine took a file and did not name it.')
    return typeof subfolder === 'string' && subfolder !== '' ? `${subfolder}/${name}` : name
  }

  /** Its id: ours, or that which an older server has given it. */
  async submit(workflow: object, { id, clientId }: { id: string; clientId: string }, signal: AbortSignal) {
    const body = { prompt: workflow, client_id: clientId, prompt_id: id, extra_data: { farebox_id: id } }
    const { prompt_id: given } = await this.#json('/prompt', { method: 'POST', body, signal })
    if (typeof given !== 'string' || given === '') throw new Error('The engine took work and did not name it.')
    return given
  }

  /** What has become of it. The line is read first: what leaves it meanwhile is in the history. */
  async look(id: string, signal: AbortSignal): Promise<Found> {
    if (await this.#itemOf(id, signal)) return { state: 'waiting' }
    const history = await this.#json(`/history/${encodeURIComponent(id)}`, { signal })
    const entry = history[id]
    if (!isObject(entry)) return { state: 'unknown' }
    const status = isObject(entry.status) ? entry.status : {}
    if (status.status_str === 'error') return { state: 'failed' }
    return { state: 'done', files: filesOf(entry.outputs) }
  }

  /** The id of the work that we gave this name, whether it waits or has ended; an older server gave it another. */
  async findByOurs(ours: string, signal: AbortSignal): Promise<string | null> {
    const item = await this.#itemOf(ours, signal)
    if (item) return item.id
    const { state } = await this.look(ours, signal)
    return state === 'unknown' ? this.#endedByOurs(ours, signal) : ours
  }

  /** Takes it out of the line, or ends it where it runs; nothing else is ended. */
  async cancel(ours: string, signal: AbortSignal): Promise<void> {
    const item = await this.#itemOf(ours, signal)
    if (!item) return
    // Older servers end whatever runs, so they are asked only where it is ours.
    if (item.isRunning) await this.#post('/interrupt', { prompt_id: item.id }, signal)
    else await this.#post('/queue', { delete: [item.id] }, signal)
  }

  /** The answer with a file, unread. */
  async file({ filename, subfolder, type }: MadeFile, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    return this.#ask('/view', { query: { filename, subfolder, type }, signal })
  }

  async bytes(file: MadeFile, mostBytes: number, signal: AbortSignal): Promise<Buffer> {
    return readBounded(await this.file(file, signal), mostBytes)
  }

  /** Every failure becomes an error of ours; the caller's own abort stays what it is. */
  known(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason
    if (error instanceof ServiceError) return error
    this.#options.onProblem?.({ host: this.#host, status: null, code: codeOf(error) })
    return transportError(error)
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#agent.destroy()
  }

  get #host(): string {
    return urlOf(this.#options.baseUrl, '/').host
  }

  async #itemOf(ours: string, signal: AbortSignal) {
    return (await this.#items(signal)).find(({ id, extra }) => id === ours || extra.farebox_id === ours)
  }

  /** Each is a list: its number, id, workflow, what came with it, and where it ends. */
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

  /** Ended work under an id of the server's own. An entry has what was submitted as the line had it. */
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
    if (!value) throw new Error('The engine answered something else than JSON.')
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
      bodyTimeout: bounds.silenceMs,
    })
    // A body that is left before its end reports that as an error, which nobody waits for.
    response.body.on('error', () => undefined)
    if (response.statusCode === 200) return response
    response.body.destroy()
    this.#options.onProblem?.({ host: this.#host, status: response.statusCode, code: '' })
    throw refusalOf(response.statusCode)
  }
}

/** A 400 is about the operator's workflow, which no caller has written. */
function refusalOf(status: number) {
  if (status === 429 || status === 503) return modelOverloaded()
  return [401, 402, 403, 404, 405, 407].includes(status) ? modelOffline() : inferenceFailed()
}

/** Of all nodes; what a node only shows is a file too, and counts where nothing was saved. */
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
