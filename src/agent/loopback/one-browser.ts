import { createHash } from 'node:crypto'
import { type Clock, minuteMs, systemClock } from '#contract/time.ts'
import { cookieNamed } from '#host/pages/page-cookie.ts'
import { newPageSecret } from '#host/pages/page-guards.ts'
import { isSameSecret } from '#host/signatures/signatures.ts'
import { hiddenShown } from '#toolkit/values/untrusted.ts'
import { openLoopbackServer } from './loopback-server.ts'

/** A page for one browser: its contents, and the forms that it accepts. */
export interface BrowserPage {
  /** Returns the current body of the page; each form must contain `formToken`. */
  show(formToken: string, notice: string | null): Promise<string> | string
  /** Handles a form; returns the notice above the page that is shown next. */
  take(form: URLSearchParams): Promise<string | null>
  /** Shown for a link that was used or is invalid. */
  usedLink: string
  /** How the user gets a new link, as a sentence. */
  newLink: string
}

export interface OpenPage {
  /**
   * Returns a link for the user alone: the first browser that opens it gets the page. An earlier unused link stays
   * valid.
   */
  link(): string
  close(): Promise<void>
}

/** Serves a page on a loopback port, only to the browser that first opens the newest link. */
export async function openBrowserPage(page: BrowserPage, clock: Clock = systemClock): Promise<OpenPage> {
  const browser = new OneBrowser(page, clock)
  const server = await openLoopbackServer(0, (request, port) => browser.answer(request, port))
  return {
    link: () => `http://127.0.0.1:${server.port}/open/${browser.linkSecret()}`,
    // Lets the last answer reach the browser.
    close: () => server.close(lastAnswerMs),
  }
}

const cookieName = 'farebox_page'

/**
 * The link works once and starts the only session. A form needs that session, the page's own path, this page's token,
 * and the browser's own header that it comes from here, so that no other page can click for the user. Browsers send a
 * cookie to every port of a host, so other programs on this machine may learn the session; they do not learn the path,
 * which is secret.
 */
class OneBrowser {
  readonly #page: BrowserPage
  readonly #formToken = newPageSecret()
  readonly #clock: Clock
  #linkSecret: string | null = newPageSecret()
  #linkAtMs: number
  #session = newPageSecret()
  #pathSecret = newPageSecret()

  constructor(page: BrowserPage, clock: Clock) {
    this.#page = page
    this.#clock = clock
    this.#linkAtMs = clock.now()
  }

  linkSecret(): string {
    const isOld = this.#clock.now() - this.#linkAtMs > linkMs
    if (this.#linkSecret !== null && !isOld) return this.#linkSecret
    this.#linkSecret = newPageSecret()
    this.#linkAtMs = this.#clock.now()
    return this.#linkSecret
  }

  async answer(request: Request, port: number): Promise<Response> {
    try {
      return await this.#answer(request, port)
    } catch {
      // The message may contain untrusted text, and paths of this machine.
      return said(500, `This page’s server failed. Go back and try again. ${this.#page.newLink}`)
    }
  }

  async #answer(request: Request, port: number): Promise<Response> {
    const own = `127.0.0.1:${port}`
    const origin = `http://${own}`
    // To a browser, a foreign name whose DNS points here is another origin.
    if (request.headers.get('host') !== own)
      return said(403, `This page is available only at ${own}. Open the link exactly as you received it.`)
    const { pathname } = new URL(request.url)
    const isRead = request.method === 'GET'
    if (isRead && pathname.startsWith('/open/')) return this.#open(pathname.slice('/open/'.length), origin)
    const [, pathSecret = '', place] = /^\/p\/([^/]*)\/(.*)$/.exec(pathname) ?? []
    const isOurPath = isSameSecret(pathSecret, this.#pathSecret)
    const cookie = cookieNamed(request, cookieName)
    if (isOurPath && cookie === '') return said(403, `${noCookie(own)} ${this.#page.newLink}`)
    if (!isSameSecret(cookie, this.#session) || !isOurPath) return said(403, this.#page.usedLink)
    // A browser asks for the form's address when its user reloads or opens it again.
    if (isRead && (place === '' || place === 'answer')) return this.#show(null)
    if (request.method !== 'POST' || place !== 'answer')
      return said(404, `There is no page at this address. ${this.#page.newLink}`)
    if (request.headers.get('origin') !== origin) return said(403, `${fromElsewhere} ${this.#page.newLink}`)
    const form = await readForm(request)
    if (form === 'too long')
      return this.#show(`The form is larger than ${formBytes / 1_024} kB. Shorten what you entered, then try again.`)
    if (!form || !isSameSecret(form.get('form') ?? '', this.#formToken))
      return said(403, `${fromElsewhere} ${this.#page.newLink}`)
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
    // The browser that opened an earlier link loses the page.
    this.#session = newPageSecret()
    this.#pathSecret = newPageSecret()
    const path = `/p/${this.#pathSecret}/`
    const cookie = `${cookieName}=${this.#session}; HttpOnly; SameSite=Lax; Path=${path}`
    const headers = { ...guards, location: `${origin}${path}`, 'set-cookie': cookie }
    return new Response(null, { status: 303, headers })
  }
}

const fromElsewhere = 'This request came from another page, so nothing was done.'

/** The path is right, so the link was opened; the cookie that came with it is missing. */
const noCookie = (own: string): string =>
  `Your browser did not send the cookie of this page, or the page was opened in another browser. Allow cookies for ${own}.`

async function readForm(request: Request): Promise<URLSearchParams | 'too long' | null> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers.get('content-type') ?? '')) return null
  const length = Number(request.headers.get('content-length') ?? Number.NaN)
  if (length > formBytes) return 'too long'
  return length <= formBytes ? new URLSearchParams(await request.text()) : null
}

/** How long an unused link works, in milliseconds; it may end up in a client's log. */
const linkMs = 15 * minuteMs
/** A passphrase twice, at its longest in any script, takes 25 kB in a form. */
const formBytes = 32_768
/** How long the last page may take to reach its browser when the server closes. */
const lastAnswerMs = 2_000

/** The colours and sizes of `pages/kit/style.css`, for a page that loads nothing. */
const pageStyle = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif;
--ground:light-dark(#f7f7f5,#141614);--card:light-dark(#fff,#1d201d);--line:light-dark(#d9dad4,#363b36);--ink:light-dark(#1c1f1c,#e8eae6);
--quiet:light-dark(#5a605a,#a3aaa2);--main:light-dark(#0a6c5c,#5fd0b8);--on-main:light-dark(#fff,#0c1311);accent-color:var(--main)}
*{box-sizing:border-box}body{max-width:44rem;margin:2rem auto;padding:0 1rem;background:var(--ground);color:var(--ink)}
.question,fieldset{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.75rem 1rem;margin:1.25rem 0}
h1{font-size:1.25rem}h2{font-size:1.1rem;margin:.25rem 0;overflow-wrap:anywhere}a{color:var(--main)}
pre{white-space:pre-wrap;overflow-wrap:anywhere;max-height:24rem;overflow:auto;border-left:4px solid var(--line);padding:.5rem 1rem}
dt{color:var(--quiet);font-size:.9rem}dd{margin:0 0 .5rem;font-family:ui-monospace,monospace;font-size:.9rem;overflow-wrap:anywhere}
button,input:not([type=radio]){font:inherit;color:inherit;background:var(--card);border:1px solid light-dark(#868b84,#767d75);border-radius:.35rem;padding:.35rem .7rem;width:100%}
.buttons{display:flex;flex-wrap:wrap;gap:.75rem;justify-content:flex-end}.buttons button{width:auto;cursor:pointer}
.buttons button:first-child{background:var(--main);border-color:var(--main);color:var(--on-main)}
:focus-visible{outline:2px solid var(--main);outline-offset:2px}
label{display:block}fieldset label:not(.field){margin:.35rem 0 .35rem 1.6rem;text-indent:-1.6rem}fieldset{min-width:0}legend{font-weight:600;padding:0 .35rem;margin-left:-.35rem}
.field{display:grid;grid-template-columns:minmax(0,1fr) 8rem;gap:.5rem;align-items:center;margin:.4rem 0}
.wide{grid-template-columns:minmax(0,1fr);gap:.2rem}
.qr{background:#fff;padding:.5rem;width:12rem;height:auto}code{overflow-wrap:anywhere}
.notice{border-left:4px solid var(--main);padding:.25rem 1rem}.small{font-size:.9rem;color:var(--quiet)}`

const styleHash = createHash('sha256').update(pageStyle).digest('base64')

const guards = {
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // Without it, browsers would not send the origin of a form.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

const html = (status: number, text: string): Response =>
  new Response(text, { status, headers: { ...guards, 'content-type': 'text/html; charset=utf-8' } })

/** A page with only a message, for example about a used link or a form from elsewhere. */
const said = (status: number, sentence: string): Response =>
  html(status, documentOf('farebox', `<p>${escaped(sentence)}</p>`))

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Shows invisible characters by their number, so that a text cannot look like another one. */
export const escaped = (text: string): string => hiddenShown(text).replace(/[&<>"']/g, mark => marks[mark] ?? mark)

export const paragraph = (text: string): string => `<p>${escaped(text)}</p>`

export const noticeHtml = (notice: string | null): string =>
  notice === null ? '' : `<p class="notice" role="status">${escaped(notice)}</p>`

/** The hidden field that proves that a form comes from this page. */
export const tokenHtml = (formToken: string): string =>
  `<input type="hidden" name="form" value="${escaped(formToken)}">`

/** Renders a complete page without a script. With `againSeconds` the browser reloads it automatically. */
export const documentOf = (heading: string, body: string, againSeconds?: number): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
${againSeconds === undefined ? '' : `<meta http-equiv="refresh" content="${againSeconds}">`}
<title>farebox: ${escaped(heading)}</title><style>${pageStyle}</style></head>
<body><main><h1>${escaped(heading)}</h1>
${body}
</main></body></html>`
