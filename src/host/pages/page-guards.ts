import { createHash, randomBytes } from 'node:crypto'

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
