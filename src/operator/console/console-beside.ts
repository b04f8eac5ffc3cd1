import type { Clock } from '#contract/time.ts'
import { onceLoaded } from '#host/packages.ts'
import type { AskedBeside } from '../queries/operator-context.ts'
import type { OperatorQueries } from '../queries/operator-queries.ts'
import type { LinkOrder } from '../sign-in/operator-sessions.ts'
import type { Audits } from './audits.ts'
import type { ConsoleParts } from './console-route.ts'
import { RecentRequests } from './recent-requests.ts'

type Answer = (request: Request, bindings: object) => Promise<Response>

/**
 * The operators' part of a running service. Its code is loaded with the first request, link or query, because most
 * services need none of it.
 */
export class ConsoleBeside {
  readonly recent = new RecentRequests()
  /** Runs queries without delaying requests; null if the service does not know where its ledger is. */
  readonly queries: AskedBeside | null
  readonly #database: string | undefined
  #asked: OperatorQueries | null = null
  #audits: Audits | null = null
  #links: { link(order: LinkOrder): Promise<string>; signOutAll(): Promise<number> } | null = null

  /** `database` is the configured address. */
  constructor(database: string | undefined, clock: Clock) {
    this.#database = database
    this.queries = database === undefined ? null : this.#openQueries(database, clock)
  }

  /** Creates sign-in links; null until the console has an address. */
  get links() {
    return this.#links
  }

  /** Serves operators at these addresses; links use the first. */
  open(origins: readonly [string, ...string[]], parts: Omit<ConsoleParts, 'recent' | 'audits' | 'beside'>): Answer {
    const opened = onceLoaded(async () => {
      const [{ OperatorConsole }, { Audits }] = await Promise.all([
        import('./operator-console.ts'),
        import('./audits.ts'),
      ])
      this.#audits = this.#database === undefined ? null : new Audits(this.#database)
      const beside = this.queries ? { beside: this.queries } : {}
      return new OperatorConsole({ ...parts, ...beside, recent: this.recent, audits: this.#audits }, origins)
    })
    this.#links = {
      link: async order => (await opened()).link(order),
      signOutAll: async () => (await opened()).signOutAll(),
    }
    return async (request, bindings) => (await opened()).fetch(request, bindings)
  }

  #openQueries(database: string, clock: Clock): AskedBeside {
    const opened = onceLoaded(async () => {
      const { OperatorQueries } = await import('../queries/operator-queries.ts')
      this.#asked = new OperatorQueries(database, { clock })
      return this.#asked
    })
    return {
      ask: async (...asked) => (await opened()).ask(...asked),
      csvPage: async (...asked) => (await opened()).csvPage(...asked),
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#audits?.close(), this.#asked?.close()])
  }
}
