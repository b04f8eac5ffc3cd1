import { type Clock, hourMs, minuteMs, systemClock } from '#contract/time.ts'
import type { PageFiles } from '#host/pages/page-files.ts'
import {
  cookieOf,
  guarded,
  hashOfSecret,
  isFromItself,
  newPageSecret,
  readJsonObject,
  sendJson,
  sendText,
} from '#host/pages/page-guards.ts'
import { isSameSecret } from '#host/signatures/signatures.ts'
import { apiPath, pageKeyHeader, type Refused, sessionPath } from '#pages/kit/wire.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { openLoopbackServer } from './loopback-server.ts'

/** A page with a script: what the browser loads, and what the script may ask. */
export interface ScriptPage {
  files: PageFiles
  /** By method and path, such as `GET /api/wallet`; only the session's browser reaches them. */
  routes: Readonly<Record<string, PageRoute>>
  /** What is told where a link or a session is over. */
  over: string
}

/** Answers what is sent as JSON, or a whole answer. Throws `WalletRefusal` for what the user can read. */
export type PageRoute = (asked: { query: URLSearchParams; body: unknown }) => Promise<unknown> | unknown

/** Why a page ended by itself. */
export type PageEnd = 'unused' | 'idle'

export interface OpenScriptPage {
  /** For the user alone: the first browser that spends it gets the page, and an earlier browser loses it. */
  link(): string
  ended: Promise<PageEnd>
  close(): Promise<void>
}

const cookieName = 'farebox_wallet'

/** How long a link works that was not used; the browser is opened at once. */
const linkMs = 5 * minuteMs
/** A page that is hidden or closed asks for nothing; after this its session is over. */
const idleMs = 30 * minuteMs
/** However busy it is: one that was forgotten on a screen ends with the day's work. */
const sessionMs = 8 * hourMs
/** How often it is looked whether the page is over. */
const lookMs = 5_000
/** A form is a few fields. */
const bodyBytes = 8_192
/** How long the last answer has to reach its browser when the server closes. */
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
    // What stands behind the mark is never sent to a server, and in no log of one.
    link: () => `http://127.0.0.1:${server.port}/#${session.newLink()}`,
    ended,
    async close() {
      clearInterval(look)
      await server.close(lastAnswerMs)
    },
  }
}

/**
 * The one link and the one browser that spent it. Browsers send a cookie to every port of a host, so whatever else listens
 * on this machine may come to know it. A second secret is therefore told to the page alone, which no other origin reads.
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

  /** Null for a link that was used, is too old or another one's. */
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

  /** Whether a request is of the session's browser and of its page; it counts as a use. */
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
  const own = `127.0.0.1:${port}`
  // A name that somebody's DNS points here is another origin to a browser, and none of ours.
  if (request.headers.get('host') !== own) return refused(403, 'This is another address.', 'Open the printed link.')
  const { pathname, searchParams: query } = new URL(request.url)
  if (request.method === 'GET' && !pathname.startsWith(apiPath)) {
    const file = page.files[pathname]
    return file ? sendText(200, file.type, file.text) : refused(404, 'There is no such page.', 'Open the printed link.')
  }
  if (!isFromItself(request, [`http://${own}`]))
    return refused(403, 'This request came from another page.', 'Open the printed link.')
  const body = request.method === 'POST' ? await readJsonObject(request, bodyBytes) : undefined
  if (body === null) return refused(400, 'The request is not JSON of at most 8 kB.', 'Reload the page.')
  if (request.method === 'POST' && pathname === sessionPath) return begin(session, body, page)
  if (!session.admits(cookieOf(request, cookieName), request.headers.get(pageKeyHeader) ?? ''))
    return refused(401, 'This page is closed, or was opened elsewhere.', page.over)
  const name = `${request.method} ${pathname}`
  const route = Object.hasOwn(page.routes, name) ? page.routes[name] : undefined
  return route ? run(route, { query, body }) : refused(404, `There is no ${name}.`, 'Reload the page.')
}

function begin(session: PageSession, body: unknown, { over }: ScriptPage): Response {
  const begun = session.spend((body as { token?: unknown }).token)
  if (!begun) return refused(410, 'This link was already used, or is too old.', over)
  const response = sendJson(200, { key: begun.key })
  response.headers.set('set-cookie', `${cookieName}=${begun.cookie}; HttpOnly; SameSite=Strict; Path=${apiPath}`)
  return response
}

async function run(route: PageRoute, asked: Parameters<PageRoute>[0]): Promise<Response> {
  try {
    const answered = await route(asked)
    return answered instanceof Response ? guarded(answered) : sendJson(200, answered)
  } catch (error) {
    if (error instanceof WalletRefusal) return refused(409, error.sentence, error.nextStep)
    // Its words may be anyone's; the terminal that serves the page is where to look.
    return refused(500, 'The page’s server could not do this.', 'Try again, or use the commands of `farebox wallet`.')
  }
}

const refused = (status: number, happened: string, next: string): Response =>
  sendJson(status, { happened, next } satisfies Refused)
