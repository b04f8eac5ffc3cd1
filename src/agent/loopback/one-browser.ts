import { createHash, randomBytes } from 'node:crypto'
import { type Clock, minuteMs, systemClock } from '#contract/time.ts'
import { isSameSecret } from '#host/signatures.ts'
import { hiddenShown } from '#toolkit/values/untrusted.ts'
import { openLoopbackServer } from './loopback-server.ts'

/** What a page for one browser shows and takes. */
export interface BrowserPage {
  /** The body of the page as it is now; `formToken` belongs into each form. */
  show(formToken: string, notice: string | null): Promise<string> | string
  /** What a form says; answers the notice above the page that is shown next. */
  take(form: URLSearchParams): Promise<string | null>
  /** What is said of a link that was used, or is another one's. */
  usedLink: string
}

export interface OpenPage {
  /** A link for the user alone: the first browser that opens it gets the page. An earlier unused link stays valid. */
  link(): string
  close(): Promise<void>
}

/** Serves a page on a port of this machine, for the one browser that opens the newest link first. */
export async function openBrowserPage(page: BrowserPage, clock: Clock = systemClock): Promise<OpenPage> {
  const browser = new OneBrowser(page, clock)
  const server = await openLoopbackServer(0, (request, port) => browser.answer(request, port))
  return {
    link: () => `http://127.0.0.1:${server.port}/open/${browser.linkSecret()}`,
    // The last answer is on its way to the browser.
    close: () => server.close(lastAnswerMs),
  }
}

const cookieName = 'farebox_page'

/**
 * The link works once and begins the one session that there is; a form needs that session, the page's own path, a token of
 * this page, and the browser's own word that it comes from here, so that no other page can click for the user. Browsers
 * send a cookie to every port of a host, so the session alone may be known to whatever else listens on this machine; its
 * path keeps it from them, and is a secret that they are not told.
 */
class OneBrowser {
  readonly #page: BrowserPage
  readonly #formToken = newSecret()
  readonly #clock: Clock
  #linkSecret: string | null = newSecret()
  #linkAtMs: number
  #session = newSecret()
  #pathSecret = newSecret()

  constructor(page: BrowserPage, clock: Clock) {
    this.#page = page
    this.#clock = clock
    this.#linkAtMs = clock.now()
  }

  linkSecret(): string {
    const isOld = this.#clock.now() - this.#linkAtMs > linkMs
    if (this.#linkSecret !== null && !isOld) return this.#linkSecret
    this.#linkSecret = newSecret()
    this.#linkAtMs = this.#clock.now()
    return this.#linkSecret
  }

  async answer(request: Request, port: number): Promise<Response> {
    const origin = `http://127.0.0.1:${port}`
    // A name that somebody's DNS points here is another origin to a browser, and none of ours.
    if (request.headers.get('host') !== `127.0.0.1:${port}`) return said(403, 'Open this page only at its own address.')
    const { pathname } = new URL(request.url)
    const isRead = request.method === 'GET'
    if (isRead && pathname.startsWith('/open/')) return this.#open(pathname.slice('/open/'.length), origin)
    const [, pathSecret = '', place] = /^\/p\/([^/]*)\/(.*)$/.exec(pathname) ?? []
    const isOurPath = isSameSecret(pathSecret, this.#pathSecret)
    if (!isSameSecret(cookieOf(request), this.#session) || !isOurPath) return said(403, this.#page.usedLink)
    if (isRead && place === '') return this.#show(null)
    if (request.method !== 'POST' || place !== 'answer') return said(404, 'Page not found.')
    const form = request.headers.get('origin') === origin ? await readForm(request) : null
    if (!form || !isSameSecret(form.get('form') ?? '', this.#formToken))
      return said(403, 'This request came from another page.')
    return this.#show(await this.#page.take(form))
  }

  async #show(notice: string | null): Promise<Response> {
    return html(200, await this.#page.show(this.#formToken, notice))
  }

  #open(secret: string, origin: string): Response {
    const isOld = this.#clock.now() - this.#linkAtMs > linkMs
    if (this.#linkSecret === null || isOld || !isSameSecret(secret, this.#linkSecret))
      return said(410, this.#page.usedLink)
    this.#linkSecret = null
    // The browser that opened an earlier link has the page no longer.
    this.#session = newSecret()
    this.#pathSecret = newSecret()
    const path = `/p/${this.#pathSecret}/`
    const cookie = `${cookieName}=${this.#session}; HttpOnly; SameSite=Lax; Path=${path}`
    const headers = { ...guards, location: `${origin}${path}`, 'set-cookie': cookie }
    return new Response(null, { status: 303, headers })
  }
}

async function readForm(request: Request): Promise<URLSearchParams | null> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers.get('content-type') ?? '')) return null
  const length = Number(request.headers.get('content-length') ?? Number.NaN)
  return length <= formBytes ? new URLSearchParams(await request.text()) : null
}

/** Of the link, the page's path, its session and its form, each: nobody guesses 256 bits. */
const secretBytes = 32
/** How long a link works that was not used, in milliseconds; it may lie in a log of the client. */
const linkMs = 15 * minuteMs
/** An answer is a few fields. */
const formBytes = 4_096
/** How long the last page has to reach its browser when the server closes. */
const lastAnswerMs = 2_000

const newSecret = (): string => randomBytes(secretBytes).toString('base64url')

const cookieOf = (request: Request): string =>
  (request.headers.get('cookie') ?? '')
    .split(/; */)
    .find(pair => pair.startsWith(`${cookieName}=`))
    ?.slice(cookieName.length + 1) ?? ''

const pageStyle = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{max-width:44rem;margin:2rem auto;padding:0 1rem}
.question{border:1px solid #8888;border-radius:.5rem;padding:.5rem 1.25rem;margin:1.5rem 0}
h1{font-size:1.25rem}h2{font-size:1.1rem;overflow-wrap:anywhere}
pre{white-space:pre-wrap;overflow-wrap:anywhere;max-height:24rem;overflow:auto;border-left:4px solid #8888;padding:.5rem 1rem}
dd{margin:0 0 .5rem;font-family:ui-monospace,monospace;overflow-wrap:anywhere}
.buttons{display:flex;flex-wrap:wrap;gap:1rem;justify-content:flex-end}button{font:inherit;padding:.4rem 1.2rem}
label{display:block}fieldset{border:0;padding:0;margin:1rem 0}legend{font-weight:600;padding:0}
input{font:inherit}.field{display:grid;grid-template-columns:minmax(0,1fr) 9rem;gap:.5rem;align-items:center;margin:.4rem 0}
.wide{grid-template-columns:minmax(0,1fr)}
.qr{background:#fff;padding:.5rem;width:12rem;height:auto}code{overflow-wrap:anywhere}
.notice{border-left:4px solid #2a7;padding:.25rem 1rem}.small{font-size:.85rem;opacity:.8}`

const styleHash = createHash('sha256').update(pageStyle).digest('base64')

const guards = {
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // Without any, a browser would not say where a form came from.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

const html = (status: number, text: string): Response =>
  new Response(text, { status, headers: { ...guards, 'content-type': 'text/html; charset=utf-8' } })

/** A page that only says something: a link that was used, an answer from elsewhere. */
const said = (status: number, sentence: string): Response =>
  html(status, documentOf('farebox', `<p>${escaped(sentence)}</p>`))

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** What nobody can see is shown by its number, so that a text cannot look like another one. */
export const escaped = (text: string): string => hiddenShown(text).replace(/[&<>"']/g, mark => marks[mark] ?? mark)

export const paragraph = (text: string): string => `<p>${escaped(text)}</p>`

export const noticeHtml = (notice: string | null): string =>
  notice === null ? '' : `<p class="notice" role="status">${escaped(notice)}</p>`

/** The field by which a form shows that it comes from this page. */
export const tokenHtml = (formToken: string): string =>
  `<input type="hidden" name="form" value="${escaped(formToken)}">`

/** A whole page without a script. With `againSeconds` the browser asks for it again by itself. */
export const documentOf = (heading: string, body: string, againSeconds?: number): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
${againSeconds === undefined ? '' : `<meta http-equiv="refresh" content="${againSeconds}">`}
<title>farebox: ${escaped(heading)}</title><style>${pageStyle}</style></head>
<body><h1>${escaped(heading)}</h1>
${body}
</body></html>`
