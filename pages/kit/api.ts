import { pageKeyHeader, type Refused, type Session, sessionPath } from './wire.ts'

/** What the server refused, in its words. */
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

/** Of another origin no page reads it, and the tab forgets it when it is closed. */
const keptAs = 'farebox-page-key'

const token = /^#[\w-]{43}$/

let key = ''

/** What a page says when its server does not answer; a page of this machine by default. */
let gone: Refused = {
  happened: 'The server of this page has ended.',
  next: 'Open the page again from the terminal.',
}

/** For a page of a service that goes on: a session that was begun before, in this tab or another one. */
export function goOnWith(kept: Storage, whenGone: Refused): void {
  key = kept.getItem(keptAs) ?? ''
  gone = whenGone
}

/** Signs in: what proves who it is goes to the server once, and the session's key stays with the page. */
export async function beginSession(path: string, proof: object, kept: Storage): Promise<void> {
  const session = await postJson<Session>(path, proof)
  key = session.key
  kept.setItem(keptAs, key)
}

/**
 * Spends the token behind the link's mark; a tab that was reloaded goes on with the session that it has. With
 * `localStorage`, other tabs of the same page share it.
 */
export async function openSession(kept: Storage = sessionStorage): Promise<void> {
  key = kept.getItem(keptAs) ?? ''
  const { hash, pathname } = location
  if (!token.test(hash)) return
  history.replaceState(null, '', pathname)
  try {
    await beginSession(sessionPath, { token: hash.slice(1) }, kept)
  } catch (error) {
    // The same tab has spent it already.
    if (key === '') throw error
  }
}

/** Lets the reader prove who they are; false if they did not. */
let prove: (() => Promise<boolean>) | null = null

export function proveWith(ask: () => Promise<boolean>): void {
  prove = ask
}

export const readJson = async <T>(path: string): Promise<T> => (await (await send('GET', path)).json()) as T

export const readBlob = async (path: string): Promise<Blob> => (await send('GET', path)).blob()

export const postBlob = async (path: string, body: unknown): Promise<Blob> => (await send('POST', path, body)).blob()

export const postJson = async <T>(path: string, body: unknown): Promise<T> =>
  (await (await send('POST', path, body)).json()) as T

/** Does it again after the proof that it needs. Throws `RefusedError` alone. */
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
  const response = await fetch(path, body === undefined ? sent : { ...sent, body: JSON.stringify(body) }).catch(
    () => null,
  )
  if (response === null) throw new RefusedError(0, gone)
  if (response.ok) return response
  const refused = (await response.json().catch(() => null)) as Refused | null
  throw new RefusedError(
    response.status,
    refused ?? { happened: 'The server of this page failed.', next: 'Try again.' },
  )
}

/** What to show of anything that was thrown. */
export const refusedOf = (error: unknown): Refused =>
  error instanceof RefusedError ? error : { happened: 'This page failed.', next: 'Reload it.' }
