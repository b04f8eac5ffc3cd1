import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { formBoundary, parseForm } from '#contract/wire/form.ts'
import { Listeners } from './listeners.ts'

/** One queued job, as the server stores it. */
export interface ComfyItem {
  id: string
  workflow: Record<string, unknown>
  extra: Record<string, unknown>
}

export interface ComfyBehaviour {
  /** As older servers: ids are their own. */
  ownIds?: boolean
  /** In place of an answer to a submission. */
  submission?: { status: number } | 'cut'
  files?: Record<string, Buffer>
  /** Nobody can listen. */
  deaf?: boolean
}

export const comfyDouble = (behaviour: ComfyBehaviour = {}): Promise<ComfyDouble> => ComfyDouble.open(behaviour)

/** The wire of a ComfyUI server, on loopback. */
export class ComfyDouble {
  /** Requests, without the questions about the line and the history. */
  readonly seen: { path: string; body: unknown; authorization: string | undefined }[] = []
  readonly line: { running: ComfyItem[]; pending: ComfyItem[] } = { running: [], pending: [] }
  readonly #behaviour: ComfyBehaviour
  readonly #server: Server
  readonly #listeners = new Listeners()
  readonly #waiting: { path: string; resolve(body: unknown): void }[] = []
  #history: Record<string, object> = {}

  private constructor(behaviour: ComfyBehaviour) {
    this.#behaviour = behaviour
    this.#server = createServer((request, response) => void this.#answer(request, response))
    this.#server.on('upgrade', (request, socket) => {
      if (behaviour.deaf) socket.destroy()
      else this.#listeners.take(request, socket)
    })
  }

  static async open(behaviour: ComfyBehaviour): Promise<ComfyDouble> {
    const double = new ComfyDouble(behaviour)
    await new Promise<void>(resolve => double.#server.listen(0, '127.0.0.1', resolve))
    return double
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Ends running work, and tells who listens. */
  finish(id: string, entry: object, type = 'execution_success'): void {
    const item = this.line.running.find(each => each.id === id)
    this.line.running = this.line.running.filter(each => each !== item)
    this.#history[id] = { ...(item ? { prompt: listed(item) } : {}), ...entry }
    this.#listeners.tell({ type, data: { prompt_id: id } })
  }

  /** The next work that is submitted. */
  submitted(): Promise<ComfyItem> {
    return this.asked('submitted') as Promise<ComfyItem>
  }

  /** The next request to this path. */
  asked(path: string): Promise<unknown> {
    return new Promise(resolve => this.#waiting.push({ path, resolve }))
  }

  forget(): void {
    this.line.running = []
    this.#history = {}
  }

  async close(): Promise<void> {
    this.#listeners.close()
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #tell(path: string, body: unknown): void {
    for (const each of this.#waiting.filter(one => one.path === path)) each.resolve(body)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://double')
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const body = bodyOf(request, Buffer.concat(pieces))
    const [, name, id = ''] = url.pathname.split('/')
    if (name === 'queue' && request.method === 'GET') return this.#tellLine(response)
    if (name === 'history') return this.#tellHistory(url, id, response)
    this.seen.push({ path: url.pathname, body, authorization: request.headers.authorization })
    if (name === 'prompt') this.#take(body as Record<string, unknown>, response)
    else if (name === 'upload')
      json(response, { name: `stored-${this.seen.length}.png`, subfolder: 'in', type: 'input' })
    else if (name === 'view') this.#view(url, response)
    else response.writeHead(200).end()
    this.#tell(url.pathname, body)
  }

  #tellLine(response: ServerResponse): void {
    json(response, { queue_running: this.line.running.map(listed), queue_pending: this.line.pending.map(listed) })
  }

  /** One entry, or the newest of all. */
  #tellHistory(url: URL, id: string, response: ServerResponse): void {
    const most = Number(url.searchParams.get('max_items') ?? Number.POSITIVE_INFINITY)
    const entries = Object.entries(this.#history)
    json(response, Object.fromEntries(id ? entries.filter(([key]) => key === id) : entries.slice(-most)))
  }

  #take(body: Record<string, unknown>, response: ServerResponse): void {
    const { submission, ownIds } = this.#behaviour
    if (typeof submission === 'object') {
      json(response, { error: {}, node_errors: {} }, submission.status)
      return
    }
    const id = ownIds ? `own-${this.seen.length}` : String(body.prompt_id)
    const item = { id, workflow: body.prompt as ComfyItem['workflow'], extra: body.extra_data as ComfyItem['extra'] }
    this.line.running.push(item)
    if (submission === 'cut') response.destroy()
    else json(response, { prompt_id: id, number: 1, node_errors: {} })
    this.#tell('submitted', item)
  }

  #view(url: URL, response: ServerResponse): void {
    const { filename = '', type } = Object.fromEntries(url.searchParams)
    const file = this.#behaviour.files?.[`${type}/${filename}`]
    if (file) response.writeHead(200, { 'content-type': 'image/png', 'content-length': file.length }).end(file)
    else response.writeHead(404).end()
  }
}

const listed = ({ id, workflow, extra }: ComfyItem) => [1, id, workflow, extra, ['9']]

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value))
}

function bodyOf(request: IncomingMessage, bytes: Buffer): unknown {
  const boundary = formBoundary(request.headers['content-type'])
  if (boundary !== null) {
    const form = parseForm(bytes, boundary)
    return form.ok ? form.fields : null
  }
  return bytes.length ? JSON.parse(bytes.toString()) : null
}

/** What the server keeps of finished work. */
export const entryOf = (files: object[], status = 'success') => ({
  outputs: { 9: { images: files } },
  status: { status_str: status, completed: status === 'success', messages: [] },
})
