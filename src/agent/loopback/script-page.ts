import { type Clock, hourMs, minuteMs, systemClock } from '#contract/time.ts'
import { PageCookie } from '#host/pages/page-cookie.ts'
import type { PageFiles } from '#host/pages/page-files.ts'
import {
  guarded,
  hashOfSecret,
  isFromItself,
  isRead,
  newPageSecret,
  PageRefusal,
  readPageBody,
  refused,
  refusedBy,
  refusedTo,
  sendJson,
  sendText,
} from '#host/pages/page-guards.ts'
import { isSameSecret } from '#host/signatures/signatures.ts'
import { apiPath, pageKeyHeader, sessionPath } from '#pages/kit/wire.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { toTheUser } from '../words/to-the-user.ts'
import { openLoopbackServer } from './loopback-server.ts'

/** A page with a script: the files that the browser loads, and the routes that the script calls. */
export interface ScriptPage {
  files: PageFiles
  /** Keys are method and path, such as `GET /api/wallet`. Only the session's browser can call them. */
  routes: Readonly<Record<string, PageRoute>>
  /** The message for an expired link or session. */
  over: string
}

/** Returns a value to send as JSON, or a complete response. Throws `WalletRefusal` with a message for the user. */
export type PageRoute = (asked: { query: URLSearchParams; body: unknown }) => Promise<unknown> | unknown

/** Why a page ended, if it was not closed. */
type PageEnd = 'unused' | 'idle'

export interface OpenScriptPage {
  /** A link for the user alone. The first browser that opens it gets the page, and an earlier browser loses it. */
  link(): string
  ended: Promise<PageEnd>
  close(): Promise<void>
}

const sessionCookie = new PageCookie('farebox_wallet', { isSecure: false, path: apiPath })

/** How long an unused link works; the browser is opened at once. */
const linkMs = 5 * minuteMs
/** A hidden or closed page sends no requests; its session ends after this time. */
const idleMs = 30 * minuteMs
/** A session ends after this time even if it is in use, so that a forgotten one ends with the working day. */
const sessionMs = 8 * hourMs
/** How often to check whether the page has ended. */
const lookMs = 5_000
/** A form is a few fields. */
const bodyBytes = 8_192
/** How long the last answer may take to reach its browser when the server closes. */
const lastAnswerMs = 2_000

/** Serves a page with a script on a port of this machine, for one browser. */
export async function openScriptPage(page: ScriptPage, clock: Clock = systemClock): Promise<OpenScriptPage> {
  const session = new PageSession(clock)
  const server = await openLoopbackServer(0, (request, port) => answer(page, session, request, port))
  let look: NodeJS.Timeout | undefined
  const ended = new Promise<PageEnd>(resolve => {
    look = setInterval(() => {
      const end = session.end()
      if (end) resolve(end)
    }, lookMs)
    look.unref()
  })
  return {
    // Browsers don't send the part after `#` to a server, so no server logs it.
    link: () => `http://127.0.0.1:${server.port}/#${session.newLink()}`,
    ended,
    async close() {
      clearInterval(look)
      await server.close(lastAnswerMs)
    },
  }
}

/**
 * The single valid link, and the browser that opened it. Browsers send a cookie to every port of a host, so other
 * servers on this machine may see it. Therefore a second secret is given only to the page, where no other origin can
 * read it.
 */
class PageSession {
  readonly #clock: Clock
  #link: { hash: string; atMs: number } | null = null
  #open: { cookie: string; key: string; sinceMs: number; usedAtMs: number } | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  newLink(): string {
    const secret = newPageSecret()
    this.#link = { hash: hashOfSecret(secret), atMs: this.#clock.now() }
    return secret
  }

  /** Null if the link was used, is too old or is not ours. */
  spend(secret: unknown): { cookie: string; key: string } | null {
    const link = this.#link
    const isOld = link === null || this.#clock.now() - link.atMs > linkMs
    if (isOld || typeof secret !== 'string' || !isSameSecret(hashOfSecret(secret), link.hash)) return null
    this.#link = null
    const [cookie, key] = [newPageSecret(), newPageSecret()]
    const nowMs = this.#clock.now()
    this.#open = { cookie: hashOfSecret(cookie), key: hashOfSecret(key), sinceMs: nowMs, usedAtMs: nowMs }
    return { cookie, key }
  }

  /** Whether a request comes from the session's browser and its page; it counts as a use. */
  admits(cookie: string, key: string): boolean {
    const open = this.#open
    if (!open || this.#isOver(open)) return false
    const [isBrowser, isPage] = [
      isSameSecret(hashOfSecret(cookie), open.cookie),
      isSameSecret(hashOfSecret(key), open.key),
    ]
    if (!isBrowser || !isPage) return false
    open.usedAtMs = this.#clock.now()
    return true
  }

  /** Null while a link or a session can still be used. */
  end(): PageEnd | null {
    if (this.#open && !this.#isOver(this.#open)) return null
    if (this.#link && this.#clock.now() - this.#link.atMs <= linkMs) return null
    return this.#open ? 'idle' : 'unused'
  }

  #isOver({ sinceMs, usedAtMs }: { sinceMs: number; usedAtMs: number }): boolean {
    const nowMs = this.#clock.now()
    return nowMs - usedAtMs > idleMs || nowMs - sinceMs > sessionMs
  }
}

async function answer(page: ScriptPage, session: PageSession, request: Request, port: number): Promise<Response> {
  try {
    return await answerOf(page, session, request, port)
  } catch (error) {
    if (error instanceof PageRefusal) return refusedBy(error)
    throw error
  }
}

async function answerOf(page: ScriptPage, session: PageSession, request: Request, port: number): Promise<Response> {
  const own = `127.0.0.1:${port}`
  // To a browser, a foreign name whose DNS points here is another origin.
  if (request.headers.get('host') !== own)
    return refusedTo(request, 403, `This page is available only at ${own}.`, 'Open the link exactly as it was printed.')
  const { pathname, searchParams: query } = new URL(request.url)
  if (!pathname.startsWith(apiPath)) return sendFile(page, request, pathname)
  if (!isFromItself(request, [`http://${own}`]))
    return refused(403, 'This request came from another page.', 'Open the printed link.')
  const body = request.method === 'POST' ? await readPageBody(request, bodyBytes) : undefined
  if (request.method === 'POST' && pathname === sessionPath) return begin(session, body, page)
  const [cookie, key] = [sessionCookie.of(request), request.headers.get(pageKeyHeader) ?? '']
  if (!session.admits(cookie, key)) {
    // The page has its key, so only its cookie was kept back.
    if (cookie === '' && key !== '')
      return refused(
        401,
        'Your browser did not send the cookie of this page.',
        `Allow cookies for ${own}. ${page.over}`,
      )
    return refused(401, 'This page is closed, or is open in another window or browser.', page.over)
  }
  const name = `${request.method} ${pathname}`
  const route = Object.hasOwn(page.routes, name) ? page.routes[name] : undefined
  return route ? run(route, { query, body }) : refused(404, `There is no ${name}.`, 'Reload the page.')
}

function sendFile({ files }: ScriptPage, request: Request, pathname: string): Response {
  if (!isRead(request)) return refusedTo(request, 405, 'This page is read-only.', 'Open the printed link.')
  const file = Object.hasOwn(files, pathname) ? files[pathname] : undefined
  return file
    ? sendText(200, file.type, file.text)
    : refusedTo(request, 404, 'There is no page at this address.', 'Open the printed link.')
}

function begin(session: PageSession, body: unknown, { over }: ScriptPage): Response {
  const begun = session.spend((body as { token?: unknown }).token)
  if (!begun) return refused(410, 'This link was already used, or has expired.', over)
  const response = sendJson(200, { key: begun.key })
  sessionCookie.set(response, begun.cookie)
  return response
}

async function run(route: PageRoute, asked: Parameters<PageRoute>[0]): Promise<Response> {
  try {
    const answered = await route(asked)
    return answered instanceof Response ? guarded(answered) : sendJson(200, answered)
  } catch (error) {
    if (error instanceof WalletRefusal) return refused(409, toTheUser(error.sentence), toTheUser(error.nextStep))
    // The message may contain untrusted text. The terminal that serves the page shows more.
    return refused(500, 'The page’s server failed.', 'Try again, or use the commands of `farebox wallet`.')
  }
}
