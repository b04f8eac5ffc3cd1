import { type Dispatcher, WebSocket } from 'undici'
import { readObject } from '../openai/read-answer.ts'

/** What the server says when it has stopped working on something; `executing` says so with no node. */
const ends = new Set(['execution_success', 'execution_error', 'execution_interrupted'])

/**
 * Listens for the end of one client's work. It only ever wakes somebody who then looks: what the server says may be lost,
 * and the connection with it.
 */
export class ComfyWatch {
  readonly #socket: WebSocket
  #woken = Promise.withResolvers<void>()

  constructor(url: URL, options: { headers: Record<string, string>; dispatcher: Dispatcher }) {
    this.#socket = new WebSocket(url, options)
    this.#socket.addEventListener('message', ({ data }) => {
      // Previews are binary, and nobody looks at them.
      if (typeof data === 'string' && isEnd(data)) this.#woken.resolve()
    })
    this.#socket.addEventListener('error', () => undefined)
  }

  /** Once it listens, or never will: work may end before its submission is answered. */
  async opened(signal: AbortSignal): Promise<void> {
    if (this.#socket.readyState !== WebSocket.CONNECTING) return
    const opened = Promise.withResolvers<void>()
    for (const name of ['open', 'error', 'close'] as const) this.#socket.addEventListener(name, () => opened.resolve())
    signal.addEventListener('abort', () => opened.resolve(), { once: true })
    await opened.promise
  }

  /** When something has ended, when the time is over, or when nobody waits any more. */
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
