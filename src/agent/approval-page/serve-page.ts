import { createHash, randomBytes } from 'node:crypto'
import { displayUntil, systemClock } from '#contract/time.ts'
import { isSameSecret } from '#host/signatures.ts'
import { attestations } from '#toolkit/approval.ts'
import { hiddenShown } from '#toolkit/values/untrusted.ts'
import type { Approval, Approvals } from '#wallet/approvals/approvals.ts'
import type { ApprovalQuestion } from '#wallet/terms/approval.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import { openLoopbackServer } from '../loopback/loopback-server.ts'
import { sayAnswer } from '../words/approval-words.ts'
import { asTyped } from '../words/typed-commands.ts'

export interface ApprovalPage {
  /** Opens the page once, in the browser of whoever has it. */
  link: string
  /** Resolves when nothing waits for an answer any more. */
  answered: Promise<void>
  close(): Promise<void>
}

export interface ApprovalPageOptions {
  approvals: Approvals
  /** Who answers, as the approval's row tells it: `page, ada`. */
  by: string
}

/** Serves what waits for a person on a port of this machine, for the one browser that opens the link first. */
export async function openApprovalPage(options: ApprovalPageOptions): Promise<ApprovalPage> {
  const answers = new PageAnswers(options)
  const server = await openLoopbackServer(0, (request, port) => answers.answer(request, port))
  return {
    link: `http://127.0.0.1:${server.port}/open/${answers.linkSecret}`,
    answered: answers.answered,
    // The last answer is on its way to the browser.
    close: () => server.close(lastAnswerMs),
  }
}

interface Options {
  approvals: Approvals
  by: string
}

const cookieName = 'farebox_page'

/**
 * What the page answers. The link works once and begins the one session that there is; an answer needs that session, the
 * page's own path, a form of this page, and the browser's own word that it comes from here, so that no other page can
 * click for a person. Browsers send a cookie to every port of a host, so the session alone may be known to whatever else
 * listens on this machine; its path keeps it from them, and is a secret that they are not told.
 */
export class PageAnswers {
  readonly linkSecret = newSecret()
  readonly answered: Promise<void>
  readonly #approvals: Approvals
  readonly #by: string
  readonly #session = newSecret()
  readonly #pathSecret = newSecret()
  readonly #formToken = newSecret()
  #isOpened = false
  #tellAnswered: () => void = () => {}

  constructor({ approvals, by }: Options) {
    this.#approvals = approvals
    this.#by = by
    this.answered = new Promise(resolve => {
      this.#tellAnswered = resolve
    })
  }

  async answer(request: Request, port: number): Promise<Response> {
    const origin = `http://127.0.0.1:${port}`
    // A name that somebody's DNS points here is another origin to a browser, and none of ours.
    if (request.headers.get('host') !== `127.0.0.1:${port}`)
      return said(403, 'This page answers to its own address alone.')
    const { pathname } = new URL(request.url)
    const isRead = request.method === 'GET'
    if (isRead && pathname.startsWith('/open/')) return this.#open(pathname.slice('/open/'.length), origin)
    const [, pathSecret = '', place] = /^\/p\/([^/]*)\/(.*)$/.exec(pathname) ?? []
    const isOurPath = isSameSecret(pathSecret, this.#pathSecret)
    if (!isSameSecret(cookieOf(request), this.#session) || !isOurPath) return said(403, usedLink())
    if (isRead && place === '') return this.#page(null)
    if (request.method !== 'POST' || place !== 'answer') return said(404, 'There is nothing here.')
    return request.headers.get('origin') === origin
      ? this.#decide(request)
      : said(403, 'This answer came from another page.')
  }

  #open(secret: string, origin: string): Response {
    if (this.#isOpened || !isSameSecret(secret, this.linkSecret)) return said(410, usedLink())
    this.#isOpened = true
    const path = `/p/${this.#pathSecret}/`
    const cookie = `${cookieName}=${this.#session}; HttpOnly; SameSite=Lax; Path=${path}`
    const headers = { ...guards, location: `${origin}${path}`, 'set-cookie': cookie }
    return new Response(null, { status: 303, headers })
  }

  async #page(notice: string | null): Promise<Response> {
    const waiting = await this.#approvals.list('pending')
    const questions = waiting.map(approval => typedQuestion(this.#approvals.asQuestion(approval)))
    const nowMs = systemClock.now()
    const page = html(200, pageHtml({ questions, nowMs, notice, formToken: this.#formToken }))
    if (questions.length === 0) this.#tellAnswered()
    return page
  }

  async #decide(request: Request): Promise<Response> {
    const form = await readForm(request)
    if (!form || !isSameSecret(form.get('form') ?? '', this.#formToken))
      return said(403, 'This answer came from another page.')
    const question = await this.#approvals.get(form.get('id') ?? '')
    if (question?.state !== 'pending') return this.#page('That question is not open any more.')
    const isApproved = form.get('answer') === 'yes'
    if (isApproved && !isWhole(question, form)) {
      return this.#page('Nothing was decided: a consent needs each of the three statements ticked.')
    }
    try {
      const answered = await this.#approvals.resolve(question.id, { isApproved, by: this.#by })
      return this.#page(asTyped(sayAnswer(answered, this.#approvals, systemClock.now())))
    } catch (error) {
      if (error instanceof WalletRefusal) return this.#page(`${error.sentence} ${error.nextStep}`)
      throw error
    }
  }
}

/** A consent is three statements, each ticked by the person; the others are a button. */
const isWhole = ({ facts }: Approval, form: URLSearchParams): boolean =>
  facts.kind !== 'consent' || boxNames.every(name => form.get(name) === 'yes')

async function readForm(request: Request): Promise<URLSearchParams | null> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers.get('content-type') ?? '')) return null
  const length = Number(request.headers.get('content-length') ?? Number.NaN)
  return length <= formBytes ? new URLSearchParams(await request.text()) : null
}

/** The command has its folder in it. */
const typedQuestion = (question: ApprovalQuestion): ApprovalQuestion => ({ ...question, onNo: asTyped(question.onNo) })

const usedLink = (): string =>
  asTyped('This link has been used, or is another one’s. Run `farebox wallet open` again for a new one.')

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
.buttons{display:flex;gap:1rem;justify-content:flex-end}button{font:inherit;padding:.4rem 1.2rem}
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

const said = (status: number, sentence: string): Response => html(status, sayHtml(sentence))

/** Every bound of the approval page, with its unit and why that number. */

/** Of the link, the page's path, its session and its form, each: nobody guesses 256 bits. */
export const secretBytes = 32
/** An answer is a few fields. */
export const formBytes = 4_096
/** How long the last page has to reach its browser when the server closes. */
export const lastAnswerMs = 2_000

/** Names of the three boxes of a consent; each has to come ticked. */
export const boxNames: readonly string[] = Object.keys(attestations)

interface PageContent {
  questions: readonly ApprovalQuestion[]
  nowMs: number
  /** What came of the last answer; ours, never a stranger's. */
  notice: string | null
  /** Proves that a form comes from this page. */
  formToken: string
}

/** The whole page, without a script: every text from outside is escaped and stands in a frame of its own. */
const pageHtml = ({ questions, nowMs, notice, formToken }: PageContent): string =>
  documentOf(
    [
      ...(notice === null ? [] : [`<p class="notice" role="status">${escaped(notice)}</p>`]),
      ...questions.map(question => questionHtml(question, formToken, nowMs)),
      ...(questions.length === 0 ? ['<p>Nothing waits for an answer. You can close this page.</p>'] : []),
    ].join('\n'),
  )

/** A page that only says something: a link that was used, an answer from elsewhere. */
const sayHtml = (sentence: string): string => documentOf(`<p>${escaped(sentence)}</p>`)

function questionHtml(question: ApprovalQuestion, formToken: string, nowMs: number): string {
  const { approvalId: id, facts, asks, why, details, onYes, onNo, expiresAtMs } = question
  const yes = facts.kind === 'consent' ? 'I consent' : facts.kind === 'payee' ? 'Allow this payee' : 'Approve'
  return `<form method="post" action="answer" class="question" aria-labelledby="${escaped(id)}">
<h2 id="${escaped(id)}">${escaped(asks)}</h2>
${paragraph(why)}
<dl>${details.map(({ name, value }) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join('')}</dl>
${facts.kind === 'consent' ? policyHtml(facts.policyText) : ''}
<input type="hidden" name="form" value="${escaped(formToken)}">
<input type="hidden" name="id" value="${escaped(id)}">
${facts.kind === 'consent' ? boxesHtml() : ''}
<p class="buttons"><button name="answer" value="no">No</button>
<button name="answer" value="yes" class="yes">${escaped(yes)}</button></p>
<p class="small">${escaped(onYes)} ${escaped(onNo)} The question ${escaped(id)} is open until ${displayUntil(expiresAtMs, nowMs)}.</p>
</form>`
}

const policyHtml = (text: string): string => `<p>This is the policy, whole, as the service sent it:</p>
<pre tabindex="0">${escaped(text)}</pre>`

const boxesHtml = (): string =>
  Object.entries(attestations)
    .map(([name, text]) => `<p><label><input type="checkbox" name="${name}" value="yes"> ${escaped(text)}</label></p>`)
    .join('\n')

const paragraph = (text: string): string => `<p>${escaped(text)}</p>`

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** What nobody can see is shown by its number, so that a text cannot look like another one. */
const escaped = (text: string): string => hiddenShown(text).replace(/[&<>"']/g, mark => marks[mark] ?? mark)

const documentOf = (body: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>farebox: what waits for you</title><style>${pageStyle}</style></head>
<body><h1>What your assistant may not decide</h1>
${body}
</body></html>`
