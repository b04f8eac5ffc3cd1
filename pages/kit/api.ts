import { signal } from '@preact/signals'
import { pageKeyHeader, type Refused, type Session, sessionPath } from './wire.ts'

/** A refusal by the server, in its words. */
export class RefusedError extends Error implements Refused {
  readonly status: number
  readonly happened: string
  readonly next: string
  readonly needsProof: boolean

  constructor(status: number, { happened, next, needs }: Refused) {
    super(`${happened} ${next}`)
    this.status = status
    this.happened = happened
    this.next = next
    this.needsProof = needs === 'proof'
  }
}

/** No other origin can read it, and the browser deletes it when the tab is closed. */
const keptAs = 'farebox-page-key'

const token = /^#[\w-]{43}$/

let key = ''

/** What a page stores its session's key in. */
export type Kept = Pick<Storage, 'getItem' | 'setItem'>

/**
 * A storage of the browser. A browser that blocks cookies throws when a page names one; the key is then gone with the
 * next reload, and the server reports the missing cookie.
 */
export function keptIn(name: 'localStorage' | 'sessionStorage'): Kept {
  try {
    return window[name]
  } catch {
    const values = new Map<string, string>()
    return { getItem: each => values.get(each) ?? null, setItem: (each, value) => void values.set(each, value) }
  }
}

/** The message when the server does not answer; by default the one for a server on this machine. */
let gone: Refused = {
  happened: 'The server of this page has stopped, or does not answer.',
  next: 'If `farebox wallet open` still runs in the terminal, reload this page; otherwise run it again.',
}

/** Whether the server will answer at the same address once it runs again. */
let isPermanent = false

export const endsWithItsServer = (): boolean => !isPermanent

/** For the page of a permanent service: continues a session that was started earlier, in this tab or another one. */
export function goOnWith(kept: Kept, whenGone: Refused): void {
  key = kept.getItem(keptAs) ?? ''
  gone = whenGone
  isPermanent = true
}

/** Signs in: sends the proof of identity once, and stores the session's key in the page. */
export async function beginSession(path: string, proof: object, kept: Kept): Promise<void> {
  const session = await postJson<Session>(path, proof)
  key = session.key
  kept.setItem(keptAs, key)
}

/**
 * Exchanges the link's token (after `#`) for a session; a reloaded tab continues with the session that it has. With
 * `localStorage`, other tabs of the same page share it.
 */
export async function openSession(kept: Kept): Promise<void> {
  key = kept.getItem(keptAs) ?? ''
  const { hash, pathname } = location
  if (!token.test(hash)) return
  history.replaceState(null, '', pathname)
  try {
    await beginSession(sessionPath, { token: hash.slice(1) }, kept)
  } catch (error) {
    // This tab has already used the link.
    if (key === '') throw error
  }
}

/** Lets users prove their identity; false if they did not. */
let prove: (() => Promise<boolean>) | null = null

export function proveWith(ask: () => Promise<boolean>): void {
  prove = ask
}

export const readJson = async <T>(path: string): Promise<T> => (await (await send('GET', path)).json()) as T

export const readBlob = async (path: string): Promise<Blob> => (await send('GET', path)).blob()

export const postBlob = async (path: string, body: unknown): Promise<Blob> => (await send('POST', path, body)).blob()

export const postJson = async <T>(path: string, body: unknown): Promise<T> =>
  (await (await send('POST', path, body)).json()) as T

/** Repeats the request after the proof that it needs. Throws only `RefusedError`. */
async function send(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Response> {
  try {
    return await sendOnce(method, path, body)
  } catch (error) {
    if (!(error instanceof RefusedError && error.needsProof && prove && (await prove()))) throw error
    return sendOnce(method, path, body)
  }
}

async function sendOnce(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Response> {
  const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
  const sent = { method, headers: { [pageKeyHeader]: key, ...json }, cache: 'no-store' } as const
  const response = await counted(
    fetch(path, body === undefined ? sent : { ...sent, body: JSON.stringify(body) }).catch(() => null),
  )
  if (response === null) throw new RefusedError(0, gone)
  if (response.ok) return response
  throw new RefusedError(response.status, refusedIn(response, await response.json().catch(() => null)))
}

/** A healthy server answers sooner, except to an audit of a large ledger. */
const slowMs = 10_000

/** How many requests have waited longer than that. */
export const slowRequests = signal(0)

async function counted<Answer>(answer: Promise<Answer>): Promise<Answer> {
  let isSlow = false
  const late = setTimeout(() => {
    isSlow = true
    slowRequests.value++
  }, slowMs)
  try {
    return await answer
  } finally {
    clearTimeout(late)
    if (isSlow) slowRequests.value--
  }
}

/** The server's sentences. The API of the same service has others, and a proxy in between has none. */
function refusedIn({ status, headers }: Response, body: unknown): Refused {
  const { happened, next, error } = Object(body) as Record<string, unknown>
  if (typeof happened === 'string' && typeof next === 'string') return body as Refused
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const later = seconds > 1 ? `Try again in ${seconds} seconds.` : 'Try again in a moment.'
  if (typeof error === 'string') return { happened: error.replace(/[.]?$/, '.'), next: later }
  if (status >= 500) return { happened: 'The service, or a proxy in front of it, failed.', next: later }
  return { happened: `A proxy in front of the service refused this request (${status}).`, next: 'Reload the page.' }
}

/** The message for any thrown error. */
export const refusedOf = (error: unknown): Refused =>
  error instanceof RefusedError ? error : { happened: 'This page failed.', next: 'Reload it.' }
