import { createHash, randomBytes } from 'node:crypto'
import { jsonOf } from '#contract/wire/json.ts'

/** The parts that every server of a page with a script shares. */

/** Bytes of each secret in a link, a cookie or a key: 256 bits cannot be guessed. */
const secretBytes = 32

export const newPageSecret = (): string => randomBytes(secretBytes).toString('base64url')

export const hashOfSecret = (secret: string): string => createHash('sha256').update(secret).digest('base64url')

export const isRead = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD'

/**
 * Whether the page itself sent the request, according to the browser's headers. Every browser sends the origin of a
 * request that changes anything.
 */
export function isFromItself(request: Request, origins: readonly string[]): boolean {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  return request.method === 'GET' ? true : origins.includes(request.headers.get('origin') ?? '')
}

/** The script never creates markup from text, and this policy makes the browser enforce that. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  'media-src blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const guards = {
  'cache-control': 'no-store',
  'content-security-policy': contentPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

export function guarded(response: Response): Response {
  for (const [name, value] of Object.entries(guards)) response.headers.set(name, value)
  return response
}

export const sendText = (status: number, type: string, text: string): Response =>
  guarded(new Response(text, { status, headers: { 'content-type': type } }))

export const sendJson = (status: number, value: unknown): Response =>
  sendText(status, 'application/json; charset=utf-8', JSON.stringify(value))

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

/**
 * Returns the JSON object in the body of a page's request. A form of another site cannot send this content type. Throws
 * `PageRefusal` for anything else.
 */
export async function readPageBody(request: Request, mostBytes: number): Promise<object> {
  if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? '')) throw noObject()
  const length = Number(request.headers.get('content-length') ?? Number.NaN)
  if (length > mostBytes) throw tooLong(mostBytes)
  const value = length <= mostBytes ? jsonOf(await request.text()) : null
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw noObject()
  return value
}

const noObject = (): PageRefusal =>
  new PageRefusal(
    400,
    'The body of this request is not a JSON object.',
    'Reload the page. A program must send it as application/json, with its length.',
  )

const tooLong = (mostBytes: number): PageRefusal =>
  new PageRefusal(413, `This form is larger than ${mostBytes / 1_024} kB.`, 'Shorten what you entered, then try again.')
