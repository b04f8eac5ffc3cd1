import { sendJson, sendText } from './page-guards.ts'

/** Why the server of a page refused a request, and what the user can do. */
export class PageRefusal extends Error {
  override readonly name = 'PageRefusal'
  readonly status: number
  readonly happened: string
  readonly next: string
  /** Sent as Retry-After; null where waiting does not help. */
  readonly retryAfterSeconds: number | null

  constructor(status: number, happened: string, next: string, retryAfterSeconds: number | null = null) {
    super(`${happened} ${next}`)
    this.status = status
    this.happened = happened
    this.next = next
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export function refused(status: number, happened: string, next: string, retryAfterSeconds: number | null = null) {
  const response = sendJson(status, { happened, next })
  if (retryAfterSeconds !== null) response.headers.set('retry-after', `${retryAfterSeconds}`)
  return response
}

/** Refuses with a page if a browser opens the address, because a user would see JSON as text. */
export const refusedTo = (request: Request, status: number, happened: string, next: string): Response =>
  opensPages(request)
    ? sendText(status, 'text/html; charset=utf-8', refusalPage(happened, next))
    : refused(status, happened, next)

/** Browsers ask for HTML when a user opens an address; scripts do not. */
const opensPages = (request: Request): boolean => /\btext\/html\b/.test(request.headers.get('accept') ?? '')

/** Without a style, because the policy of these pages allows only files of their own server. */
const refusalPage = (happened: string, next: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${escaped(happened)}</title></head>
<body><main><h1>${marked(happened)}</h1>
<p>${marked(next)}</p></main></body></html>
`

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, mark => marks[mark] ?? mark)

/** Shows commands as code, and addresses as links. */
const marked = (text: string): string =>
  escaped(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/https?:\/\/[\w.:[\]/-]*[\w/]/g, '<a href="$&">$&</a>')

export const refusedBy = ({ status, happened, next, retryAfterSeconds }: PageRefusal): Response =>
  refused(status, happened, next, retryAfterSeconds)

export const mustWait = (seconds: number, happened: string): Response =>
  refused(429, happened, `Wait ${seconds} ${seconds === 1 ? 'second' : 'seconds'}, then try again.`, seconds)
