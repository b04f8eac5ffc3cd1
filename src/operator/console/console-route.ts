import type { TrustedProxies } from '#access/identity/trusted-proxies.ts'
import type { Clock } from '#contract/time.ts'
import type { oneAtATime } from '#host/async.ts'
import type { Log } from '#host/log.ts'
import { PageRefusal } from '#host/pages/page-guards.ts'
import type { ChargeReceipts } from '#ledger/charges/receipts.ts'
import type { LedgerWatch } from '#ledger/ledger-watch.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Op } from '#ledger/store/units.ts'
import type { ModelTried, OperatorRole, UpstreamRow } from '#pages/console/wire.ts'
import { OperatorRefused } from '../operator-refused.ts'
import type { OperatorContext } from '../queries/operator-context.ts'
import type { OperatorSession, OperatorSessions } from '../sign-in/operator-sessions.ts'
import type { ServiceSecrets } from '../sign-in/sealed.ts'
import type { SignIn } from '../sign-in/sign-in.ts'
import type { Audits } from './audits.ts'
import type { RecentRequests } from './recent-requests.ts'
import type { SettingsFile } from './settings-file.ts'

/** A model as the service sells it, with the servers that run it; empty if it runs on a single engine. */
interface SoldModel {
  id: string
  type: string
  isOff?: boolean
  upstreams?: {
    waiting(): number
    states(): readonly UpstreamOfModel[]
    queue: { length: number; waitMs: number }
    /** Sends one small call; absent if every call of such a model is expensive. */
    tryOne?(name: string): Promise<TriedEngine | null>
  }
}

/** What came of one call of our own. */
interface TriedEngine {
  outcome: ModelTried['outcome']
  word: string | null
  made?: { type: string; bytes: Uint8Array }
}

interface UpstreamOfModel extends Omit<UpstreamRow, 'failures'> {
  failures: Readonly<Record<string, number>>
}

/** The parts of the running service that the console shows and changes. */
export interface ConsoleParts {
  store: Store
  clock: Clock
  log: Log
  secrets: ServiceSecrets
  ledger: Pick<LedgerWatch, 'state'>
  catalogue: { readonly models: readonly SoldModel[] }
  /** A model's prices as text. */
  pricesOf(model: string): readonly string[]
  settings: { publicUrl: string }
  proxies: Pick<TrustedProxies, 'callerOf'>
  recent: Pick<RecentRequests, 'summary' | 'find'>
  /** Signs the ledger's receipt for a request. */
  receipts: Pick<ChargeReceipts, 'of'>
  /** Null if the service does not know where its ledger is. */
  audits: Pick<Audits, 'run' | 'close'> | null
  blocks?: OperatorContext['blocks']
  payments?: OperatorContext['payments']
  beside?: OperatorContext['beside']
  /** Absent where the service was not started from a file. */
  settingsFile?: SettingsFile
}

export interface RouteContext extends ConsoleParts {
  sessions: OperatorSessions
  signIn: SignIn
  /** Runs tasks that must not read the same history at once, one after another. */
  inTurn: ReturnType<typeof oneAtATime>
  /** All addresses of the console. */
  origins: readonly string[]
}

export interface Asked {
  query: URLSearchParams
  body: object
  session: OperatorSession
  /** The console's address in the browser. */
  origin: string
  /** The network address. */
  address: string
  /** The cookie of a browser in which an operator has signed in before; empty if there is none. */
  device: string
  /** From `ProofNeed`. */
  fence?: Op
}

/** Whether an action needs a recent proof of identity. */
export interface ProofNeed {
  isNeeded: boolean
  /**
   * Committed with an action that needs none because of earlier ones. It is refused if another action, also of another
   * process, was judged by the same earlier ones and committed first.
   */
  fence?: Op
}

/** One operation of the operators' API. */
export interface ConsoleRoute {
  /** The lowest role that may use it. */
  role: OperatorRole
  /** Whether the operation needs a proof of identity from the last minutes: always, or depending on the request. */
  proof?: true | ((asked: Asked, context: RouteContext) => Promise<ProofNeed>)
  /**
   * Returns a value to send as JSON, or a complete response. Throws `PageRefusal` with a message for the operator.
   */
  run(asked: Asked, context: RouteContext): Promise<unknown>
}

/** Keys are method and path, such as `GET /api/me`. */
export type ConsoleRoutes = Readonly<Record<string, ConsoleRoute>>

/** Runs an operation; what it refuses is shown to the operator. */
export const refusing =
  (run: ConsoleRoute['run']): ConsoleRoute['run'] =>
  async (asked, context) => {
    try {
      return await run(asked, context)
    } catch (error) {
      if (error instanceof OperatorRefused) throw new PageRefusal(409, error.message, 'Nothing was changed.')
      throw error
    }
  }
