import { isKeySecret } from '#access/keys/key-hash.ts'
import { addressSubject } from '#access/limits/guards.ts'
import { keyNotFound } from '#contract/errors/errors.ts'
import { ServiceError } from '#contract/errors/service-error.ts'
import { minuteMs } from '#contract/time.ts'
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
import { noteAccount } from '#host/tracing/tracing.ts'
import { type Principal, subjectOf } from '#ledger/accounts/principal.ts'
import { awayReason } from '#ledger/store/store.ts'
import { walletChallengePath, walletSessionPath } from '#pages/account/wallets/wire.ts'
import { accountApiPath, accountPath, keySessionPath } from '#pages/account/wire.ts'
import { pageKeyHeader, type Session } from '#pages/kit/wire.ts'
import type { AccountRoutes, RouteContext } from './account-route.ts'
import { type AccountSession, seesAccount } from './account-sessions.ts'
import { changeNext, faultOf } from './figure-routes.ts'
import { proveWallet, walletChallenge } from './wallets/wallet-sign-in.ts'

/** A form is a few fields; a signed payment of a wallet is some kilobytes. */
const bodyBytes = 32_768
/** Wrong keys and unknown sessions from one address before it has to wait: users mistype a few. */
const wrongTries = { most: 20, inMs: minuteMs, subjects: 50_000 }
/** Sign-ins of one caller: each writes rows that stay as long as the session. */
const signIns = { most: 20, inMs: minuteMs, subjects: 10_000 }
/**
 * Sign-ins, from one address, of wallets without an account: such a wallet costs nothing to create, so sign-ins by
 * account do not limit these.
 */
const newWallets = { most: 20, inMs: minuteMs, subjects: 50_000 }
/** Requests of one caller: a page asks for about six at once, and each reads the ledger. */
const requests = { most: 300, inMs: minuteMs, subjects: 10_000 }

/**
 * By whom sign-ins and requests are counted. All INFERENCE keys of an account share one count, and ADMIN keys and
 * wallets have their own, so that someone who found a key cannot keep its owner from revoking it here.
 */
const countedAs = (principal: Principal): string =>
  seesAccount(principal) ? subjectOf(principal) : `keys of ${principal.account}`

/** Identifies the caller who signs in with the body of a request; null if the body proves nothing. */
export type Proof = (body: object, context: RouteContext) => Promise<Principal | null>

/** The ways to sign in, by path. */
const proofs: Readonly<Record<string, Proof>> = {
  [keySessionPath]: async (body, { sessions }) => {
    const { key } = body as { key?: unknown }
    return typeof key === 'string' ? sessions.ofKey(key.trim()) : null
  },
  [walletSessionPath]: proveWallet,
}

/**
 * Answers requests at `/account`: the page, and the API behind it. A request needs both the session's cookie and the
 * page's key, because browsers send a cookie to every port of a host. Operators' sessions are not accepted here.
 */
export class AccountHandler {
  readonly #routes: AccountRoutes
  readonly #context: RouteContext
  readonly #origin: string
  readonly #cookie: PageCookie
  readonly #wrong = new Throttle(wrongTries)
  readonly #signIns = new Throttle(signIns)
  readonly #newWallets = new Throttle(newWallets)
  readonly #requests = new Throttle(requests)
  #files: PageFiles | null = null

  constructor(routes: AccountRoutes, context: RouteContext) {
    this.#routes = routes
    this.#context = context
    this.#origin = new URL(context.settings.publicUrl).origin
    this.#cookie = new PageCookie('farebox_account', { isSecure: this.#origin.startsWith('https:'), path: accountPath })
  }

  async answer(request: Request, address: string): Promise<Response> {
    try {
      return await this.#answer(request, addressSubject(address))
    } catch (error) {
      if (error instanceof PageRefusal) return refusedBy(error)
      if (error instanceof ServiceError) {
        const wait = Number(error.headers['retry-after'] ?? Number.NaN)
        if (wait > 0) return mustWait(wait, sentenceOf(error))
        if (error.kind === keyNotFound().kind)
          return refused(404, 'This account has no such key, or the key was deleted.', 'Reload the page.')
        return refused(error.status, sentenceOf(error), changeNext)
      }
      const away = awayReason(error)
      this.#context.log.error({ err: error }, 'A request from the customers’ page failed.')
      return away
        ? refused(503, 'The service’s ledger does not answer.', 'Try again in a moment.')
        : refused(500, 'The service failed.', 'Try again. Its operator can find the reason in its log.')
    }
  }

  async #answer(request: Request, address: string): Promise<Response> {
    // To a browser, a foreign name whose DNS points here is another origin.
    if (request.headers.get('host') !== new URL(this.#origin).host) {
      const next = `Open ${this.#origin}${accountPath}. If that is what you opened, the service’s proxy must pass the Host header on.`
      return refusedTo(request, 403, 'This is not the address of this page.', next)
    }
    const { pathname } = new URL(request.url)
    if (!pathname.startsWith(accountApiPath)) return this.#sendFile(request, pathname)
    if (!isFromItself(request, [this.#origin]))
      return refused(403, 'This request came from another page.', `Use the page at ${this.#origin}${accountPath}.`)
    const body = request.method === 'POST' ? await readPageBody(request, bodyBytes) : {}
    const name = `${request.method} ${pathname}`
    const proof = request.method === 'POST' && Object.hasOwn(proofs, pathname) ? proofs[pathname] : undefined
    const wrongWait = this.#wrong.waitSeconds(address, this.#now())
    const isChallenge = name === `POST ${walletChallengePath}`
    const session = isChallenge ? null : await this.#sessionOf(request, address)
    // Guesses from an address do not sign out others behind that address.
    if (session && !proof) return this.#run(name, body, session)
    if (wrongWait > 0) return mustWait(wrongWait, 'There were too many failed sign-ins from this address.')
    if (isChallenge) return sendJson(200, await walletChallenge(body, this.#context))
    if (proof) return this.#begin(proof, { body, address, former: session })
    return hasOnlyKey(this.#cookie.of(request), request)
      ? refused(401, 'Your browser did not send the cookie of your session.', cookieNext)
      : refused(401, 'You are not signed in, or your session has ended.', 'Sign in again.')
  }

  async #run(name: string, body: object, session: AccountSession): Promise<Response> {
    noteAccount(session.principal.account)
    const caller = countedAs(session.principal)
    const wait = this.#requests.waitSeconds(caller, this.#now())
    if (wait > 0) return mustWait(wait, 'This key or wallet sent too many requests.')
    this.#requests.count(caller, this.#now())
    const route = Object.hasOwn(this.#routes, name) ? this.#routes[name] : undefined
    if (!route) return refused(404, `There is no ${name}.`, 'Reload the page.')
    if (route.isForAccount && !seesAccount(session.principal))
      return refused(403, 'An INFERENCE key can see only its own requests.', 'Sign in with an ADMIN key or a wallet.')
    const answered = await route.run({ body, session }, this.#context)
    return answered instanceof Response ? guarded(answered) : sendJson(200, answered)
  }

  async #sendFile(request: Request, pathname: string): Promise<Response> {
    if (!isRead(request))
      return refusedTo(request, 405, 'This page is read-only.', `Open ${this.#origin}${accountPath}.`)
    this.#files ??= await accountFiles()
    // The script handles the page's paths, so reloading one of them returns the page.
    const file = this.#files[pathname] ?? (/\.\w+$/.test(pathname) ? undefined : this.#files[accountPath])
    return file
      ? sendText(200, file.type, file.text)
      : refusedTo(request, 404, 'There is no page at this address.', `Open ${this.#origin}${accountPath}.`)
  }

  /** An unknown session counts as a failed attempt, so that guessing one is no cheaper than guessing a key. */
  async #sessionOf(request: Request, address: string): Promise<AccountSession | null> {
    const secrets = { cookie: this.#cookie.of(request), key: request.headers.get(pageKeyHeader) ?? '' }
    if (!secrets.cookie || !secrets.key) return null
    const session = await this.#context.sessions.find(secrets)
    if (!session) this.#wrong.count(address, this.#now())
    return session
  }

  async #begin(
    proof: Proof,
    { body, address, former }: { body: object; address: string; former: AccountSession | null },
  ): Promise<Response> {
    const principal = await proof(body, this.#context).catch(error => {
      if (error instanceof PageRefusal) this.#wrong.count(address, this.#now())
      throw error
    })
    if (!principal) {
      this.#wrong.count(address, this.#now())
      const { key } = body as { key?: unknown }
      // A text of another form is none of our secrets, so the answer may say that its form is wrong.
      return typeof key === 'string' && isKeySecret(key.trim())
        ? refused(401, 'This key is unknown to this service, revoked or expired.', 'Use another key.')
        : refused(401, 'This is not an API key of this service.', keyNext)
    }
    const caller = countedAs(principal)
    const wait = this.#signIns.waitSeconds(caller, this.#now())
    if (wait > 0) return mustWait(wait, 'Too many sign-ins with this key or wallet.')
    if (principal.kind === 'wallet' && principal.isNew) {
      const newWait = this.#newWallets.waitSeconds(address, this.#now())
      if (newWait > 0) return mustWait(newWait, 'Too many wallets without an account signed in from this address.')
      this.#newWallets.count(address, this.#now())
    }
    this.#signIns.count(caller, this.#now())
    const { sessions } = this.#context
    if (former) await sessions.end(former)
    const { cookie, key } = await sessions.begin(principal)
    const response = sendJson(200, { key } satisfies Session)
    this.#cookie.set(response, cookie)
    return response
  }

  #now(): number {
    return this.#context.clock.now()
  }
}

/** The bundle is imported here, so that no service waits for it at its start. */
async function accountFiles(): Promise<PageFiles> {
  return pageFiles({
    ...(await import('./page.generated.ts')),
    title: 'Your account',
    noScript: 'The API returns the same data: <a href="/docs">/docs</a> lists its operations.',
    icon: '<path d="M4 12V7m4 5V4m4 8V9" stroke="#fff" stroke-width="2"/>',
    path: accountPath,
  })
}

const keyNext = 'Copy the whole key and nothing else: it begins with `fb_` and has 46 characters.'

const cookieNext = 'Sign in again. If this happens again, allow cookies for this site.'

/** Whether the page sent its key, and the browser kept the cookie back. */
const hasOnlyKey = (cookie: string, request: Request): boolean =>
  cookie === '' && (request.headers.get(pageKeyHeader) ?? '') !== ''

/** An error of the API, as the page shows it. */
function sentenceOf({ body }: ServiceError): string {
  const { error, issues = [] } = body as { error?: unknown; issues?: { path?: PropertyKey[]; message?: unknown }[] }
  const said = issues.map(({ path = [], message }) => faultOf(path, `${message}`)).join('; ')
  return `${said || error || 'The service refused the request'}`.replace(/[.]?$/, '.')
}
