import type { SessionSecrets } from '#access/identity/browser-sessions.ts'
import { minuteMs } from '#contract/time.ts'
import { oneAtATime } from '#host/async.ts'
import { PageCookie } from '#host/pages/page-cookie.ts'
import { type PageFiles, pageFiles } from '#host/pages/page-files.ts'
import {
  guarded,
  isFromItself,
  isRead,
  mustWait,
  PageRefusal,
  readPageBody,
  refused,
  refusedBy,
  refusedTo,
  sendJson,
  sendText,
} from '#host/pages/page-guards.ts'
import { Throttle } from '#host/pages/throttle.ts'
import { awayReason } from '#ledger/store/store.ts'
import { operatorRoles } from '#pages/console/wire.ts'
import { apiPath, pageKeyHeader, type Refused, type Session, sessionPath } from '#pages/kit/wire.ts'
import { Overtaken } from '../operator-refused.ts'
import type { Operator } from '../sign-in/operator-sessions.ts'
import { challengeMs, deviceMs } from '../sign-in/sealed.ts'
import type { Asked, ConsoleRoute, ConsoleRoutes, ProofNeed, RouteContext } from './console-route.ts'
import { type Entered, entryRoutes, nextStep } from './entry-routes.ts'

/** A form has a few fields, one of which may be a note of several sentences. */
const bodyBytes = 16_384
/** Wrong links from one address before it has to wait. No user types a link, so a wrong one comes from a program. */
const wrongLinks = { most: 20, inMs: minuteMs, subjects: 1_000 }

/**
 * Serves the operators' address: the page and its API. A request needs the session's cookie and the page's key, because
 * browsers send a cookie to every port of a host. Customers' credentials are not accepted here.
 */
export class ConsoleHandler {
  readonly #routes: ConsoleRoutes
  readonly #context: RouteContext
  readonly #wrong = new Throttle(wrongLinks)
  readonly #inTurn = oneAtATime()
  #files: PageFiles | null = null

  constructor(routes: ConsoleRoutes, context: RouteContext) {
    this.#routes = routes
    this.#context = context
  }

  async answer(request: Request, address: string): Promise<Response> {
    try {
      return await this.#answer(request, address)
    } catch (error) {
      if (error instanceof PageRefusal) return refusedBy(error)
      const away = awayReason(error)
      this.#context.log.error({ err: error }, 'A request from the console failed.')
      return away
        ? refused(503, 'The ledger’s database does not answer.', 'Try again in a moment.')
        : refused(500, 'The service failed.', 'Try again; the reason is in its log.')
    }
  }

  async #answer(request: Request, address: string): Promise<Response> {
    const host = request.headers.get('host') ?? ''
    // To a browser, a foreign name whose DNS points here is another origin.
    const origin = this.#context.origins.find(each => new URL(each).host === host)
    if (origin === undefined) return refusedTo(request, 403, 'This is not the console’s address.', openLink)
    const { pathname, searchParams: query } = new URL(request.url)
    if (!pathname.startsWith(apiPath)) return this.#sendFile(request, pathname)
    if (!isFromItself(request, this.#context.origins))
      return refused(403, 'This request came from another page.', 'Use the console’s own page.')
    const name = `${request.method} ${pathname}`
    const body = request.method === 'POST' ? await readPageBody(request, bodyBytes) : {}
    const cookies = consoleCookies(this.#context.origins.includes(`https://${host}`))
    const device = cookies.device.of(request)
    if (name === `POST ${sessionPath}`) return this.#begin(cookies, body, { address, device })
    const entry = Object.hasOwn(entryRoutes, name) ? entryRoutes[name] : undefined
    const browser = cookies.browser.of(request)
    if (entry) {
      const entered = await entry({ body, origin, address, browser, device }, this.#context)
      return 'begun' in entered ? this.#signedIn(cookies, entered.begun, device) : entryAnswer(cookies, entered)
    }
    const secrets = { cookie: cookies.session.of(request), key: request.headers.get(pageKeyHeader) ?? '' }
    const session = secrets.cookie && secrets.key ? await this.#context.sessions.find(secrets) : null
    if (!session) return secrets.key && !secrets.cookie ? noCookie() : noSession()
    const route = Object.hasOwn(this.#routes, name) ? this.#routes[name] : undefined
    if (!route) return refused(404, `There is no ${name}.`, 'Reload the page.')
    if (!mayUse(session.role, route))
      return refused(
        403,
        `The role ${session.role} does not allow this.`,
        `An operator with the role ${route.role} can do it.`,
      )
    const asked = { query, body, session, origin, address, device }
    // Whether a proof is needed depends on earlier actions. Of two actions at once, one would be refused by its fence.
    return typeof route.proof === 'function' ? this.#inTurn(() => this.#run(route, asked)) : this.#run(route, asked)
  }

  /**
   * An action that one of another process overtook is judged again. Each time, an action was done whose history allowed
   * it, and a history allows only a limited number of them without a proof.
   */
  async #run(route: ConsoleRoute, asked: Asked): Promise<Response> {
    for (;;) {
      const { isNeeded, ...fence } = await needOf(route, asked, this.#context)
      if (isNeeded && !(await this.#context.sessions.isProven(asked.session.hash))) return proofNeeded()
      try {
        const answered = await route.run({ ...asked, ...fence }, this.#context)
        return answered instanceof Response ? guarded(answered) : sendJson(200, answered)
      } catch (error) {
        if (!(error instanceof Overtaken)) throw error
      }
    }
  }

  async #sendFile(request: Request, pathname: string): Promise<Response> {
    if (!isRead(request)) return refusedTo(request, 405, 'This page is read-only.', openLink)
    this.#files ??= await consoleFiles()
    // The script handles the page's paths, so reloading one of them returns the page.
    const file = this.#files[pathname] ?? (/\.\w+$/.test(pathname) ? undefined : this.#files['/'])
    return file
      ? sendText(200, file.type, file.text)
      : refusedTo(request, 404, 'There is no page at this address.', openLink)
  }

  async #begin(
    cookies: ConsoleCookies,
    body: object,
    { address, device }: { address: string; device: string },
  ): Promise<Response> {
    const begun = await this.#context.sessions.spend((body as { token?: unknown }).token)
    if (!begun) return this.#refuseLink(address)
    return this.#signedIn(cookies, begun, device)
  }

  /** Behind a proxy all browsers share its address, so guesses there must not keep a right link from working. */
  #refuseLink(address: string): Response {
    const waitSeconds = this.#wrong.waitSeconds(address, this.#now())
    if (waitSeconds > 0)
      return refused(429, 'Too many invalid links were opened from this address.', nextStep, waitSeconds)
    this.#wrong.count(address, this.#now())
    return refused(410, 'This link was already used, or has expired.', nextStep)
  }

  #signedIn(cookies: ConsoleCookies, { cookie, key, by }: SessionSecrets & Operator, device: string): Response {
    const response = sendJson(200, { key } satisfies Session)
    cookies.session.set(response, cookie)
    cookies.device.set(response, this.#context.signIn.devices.remember(by, device), deviceMs / 1_000)
    return response
  }

  #now(): number {
    return this.#context.clock.now()
  }
}

/** The cookies of a session, of a browser that is about to sign in, and of one that was signed in before. */
const consoleCookies = (isSecure: boolean) => ({
  session: new PageCookie('farebox_console', { isSecure }),
  browser: new PageCookie('farebox_browser', { isSecure }),
  device: new PageCookie('farebox_device', { isSecure }),
})
type ConsoleCookies = ReturnType<typeof consoleCookies>

function entryAnswer(cookies: ConsoleCookies, entered: Exclude<Entered, { begun: object }>): Response {
  if ('waitMs' in entered) return mustWait(Math.ceil(entered.waitMs / 1_000), 'There were too many failed attempts.')
  const response = sendJson(200, entered.shown)
  cookies.browser.set(response, entered.browser, challengeMs / 1_000)
  return response
}

/** The bundle is imported here, so that no service waits for it at its start. */
async function consoleFiles(): Promise<PageFiles> {
  return pageFiles({
    ...(await import('./page.generated.ts')),
    title: 'farebox console',
    noScript: '<code>farebox ledger</code> and <code>farebox keys</code> do much of the same in a terminal.',
    icon: '<path d="M4 12V7m4 5V4m4 8V9" stroke="#fff" stroke-width="2"/>',
  })
}

const needOf = async ({ proof }: ConsoleRoute, asked: Asked, context: RouteContext): Promise<ProofNeed> =>
  typeof proof === 'function' ? proof(asked, context) : { isNeeded: proof === true }

const mayUse = (role: (typeof operatorRoles)[number], route: ConsoleRoute): boolean =>
  operatorRoles.indexOf(role) >= operatorRoles.indexOf(route.role)

const openLink = 'Open the link that `farebox console` prints on the service’s machine.'

const noSession = (): Response => refused(401, 'You are not signed in, or your session has ended.', nextStep)

/** The page has its key, so the browser kept the cookie back. */
const noCookie = (): Response =>
  refused(401, 'Your browser did not send the cookie of your session.', `Allow cookies for this address. ${nextStep}`)

const proofNeeded = (): Response =>
  sendJson(403, {
    happened: 'This needs a confirmation from the last five minutes.',
    next: 'Confirm with your passkey, or open a new link from `farebox console`.',
    needs: 'proof',
  } satisfies Refused)
