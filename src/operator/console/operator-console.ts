import type { IncomingMessage } from 'node:http'
import { oneAtATime } from '#host/async.ts'
import type { Me, Notice } from '#pages/console/wire.ts'
import { type LinkOrder, OperatorSessions } from '../sign-in/operator-sessions.ts'
import { SignIn } from '../sign-in/sign-in.ts'
import { ConsoleHandler } from './console-handler.ts'
import type { ConsoleParts, ConsoleRoutes } from './console-route.ts'
import { operatorRoutes } from './operator-routes.ts'
import { modelRoutes, serviceRoutes, settingsRoutes } from './service-routes.ts'
import { yourSignInRoutes } from './your-sign-in-routes.ts'

/** Routes for the operator's own session, and for all sessions. */
const sessionRoutes: ConsoleRoutes = {
  'GET /api/me': {
    role: 'read',
    async run({ session: { role, by, untilMs } }, { settings: { publicUrl }, ledger }): Promise<Me> {
      return { role, by, untilMs, publicUrl, ledger: await ledger.state() }
    },
  },
  'POST /api/sign-out': {
    role: 'read',
    async run({ session }, { sessions }): Promise<Notice> {
      await sessions.end(session)
      return { said: 'Signed out.' }
    },
  },
  'POST /api/sign-out-all': {
    role: 'owner',
    async run(_, { sessions }): Promise<Notice> {
      const ended = await sessions.endAll()
      return { said: `Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}, including this one.` }
    },
  },
}

/** All routes of the console; a test calls each of them in each role. */
export const consoleRoutes: ConsoleRoutes = {
  ...sessionRoutes,
  ...yourSignInRoutes,
  ...operatorRoutes,
  ...serviceRoutes,
  ...modelRoutes,
  ...settingsRoutes,
}

/** The console, once its address is known. */
export class OperatorConsole {
  readonly #sessions: OperatorSessions
  readonly #handler: ConsoleHandler
  readonly #url: string
  readonly #proxies: ConsoleParts['proxies']

  /** Links use the first origin, which may be a TLS proxy's. */
  constructor(parts: ConsoleParts, origins: readonly [string, ...string[]]) {
    this.#sessions = new OperatorSessions(parts)
    const context = { ...parts, sessions: this.#sessions, signIn: new SignIn(parts), inTurn: oneAtATime(), origins }
    this.#handler = new ConsoleHandler(consoleRoutes, context)
    this.#url = origins[0]
    this.#proxies = parts.proxies
  }

  /**
   * If Node's messages are missing, all browsers share one address; also behind a proxy that the service does not
   * trust.
   */
  fetch(
    request: Request,
    { incoming }: { incoming?: Pick<IncomingMessage, 'socket' | 'headersDistinct'> },
  ): Promise<Response> {
    const header = (name: string) => incoming?.headersDistinct[name] ?? []
    return this.#handler.answer(request, this.#proxies.callerOf(incoming?.socket.remoteAddress ?? '', header))
  }

  /** Browsers don't send the part after `#` to a server, so no server logs it. */
  async link(order: LinkOrder): Promise<string> {
    return `${this.#url}/#${await this.#sessions.newLink(order)}`
  }

  signOutAll(): Promise<number> {
    return this.#sessions.endAll()
  }
}
