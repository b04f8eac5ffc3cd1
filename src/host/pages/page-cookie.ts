interface CookieScope {
  /** Whether the page's origin is https. */
  isSecure: boolean
  /** The path below which the browser sends it. */
  path?: string
}

/**
 * A cookie of a page's server. Over TLS its name begins with `__Host-`, so that no other host of the domain can set it;
 * browsers accept that prefix only over TLS, and only for the path `/`.
 */
export class PageCookie {
  readonly #name: string
  readonly #scope: string

  constructor(name: string, { isSecure, path = '/' }: CookieScope) {
    this.#name = isSecure ? `__Host-${name}` : name
    this.#scope = `HttpOnly; SameSite=Strict; ${isSecure ? 'Path=/; Secure' : `Path=${path}`}`
  }

  /** Returns the value that a request carries; empty if there is none. */
  of(request: Request): string {
    return cookieNamed(request, this.#name)
  }

  /** Sets it until the browser is closed, or for `maxAgeSeconds`. */
  set(response: Response, value: string, maxAgeSeconds?: number): void {
    const age = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`
    response.headers.append('set-cookie', `${this.#name}=${value}; ${this.#scope}${age}`)
  }
}

/** Returns the value of a request's cookie; empty if there is none. */
export const cookieNamed = (request: Request, name: string): string =>
  (request.headers.get('cookie') ?? '')
    .split(/; */)
    .find(pair => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1) ?? ''
