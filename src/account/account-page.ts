import { onceLoaded } from '#host/packages.ts'
import { signInUri } from '#pages/account/wallets/wire.ts'
import type { AccountParts } from './account-route.ts'
import type { Ask } from './queries/answers.ts'

interface Opened {
  handler: { answer(request: Request, address: string): Promise<Response> }
  close(): Promise<void>
}

/**
 * The customers' page of a running service. Its code is loaded with the first request, because many services never get
 * one.
 */
export class AccountPage {
  readonly #open: () => Promise<Opened>
  #opened: Opened | null = null

  /** `database` is the configured address; without it, queries run on this thread. */
  constructor(parts: AccountParts, database: string | undefined) {
    this.#open = onceLoaded(async () => {
      const [{ AccountHandler }, { AccountSessions }, { accountRoutes }, { ask, close }] = await Promise.all([
        import('./account-handler.ts'),
        import('./account-sessions.ts'),
        import('./account-routes.ts'),
        queriesOf(parts, database),
      ])
      const walletSignIn = parts.identity.pageSignIn(signInUri(parts.settings.publicUrl))
      const context = { ...parts, ask, walletSignIn, sessions: new AccountSessions(parts) }
      const handler = new AccountHandler(accountRoutes, context)
      this.#opened = { handler, close }
      return this.#opened
    })
  }

  async answer(request: Request, address: string): Promise<Response> {
    return (await this.#open()).handler.answer(request, address)
  }

  async close(): Promise<void> {
    await this.#opened?.close()
  }
}

async function queriesOf(
  { store, clock }: AccountParts,
  database: string | undefined,
): Promise<{ ask: Ask; close(): Promise<void> }> {
  if (database === undefined) {
    const { answer } = await import('./queries/answers.ts')
    return { ask: (name, query) => answer(store, name, query, clock.now()), close: async () => undefined }
  }
  const { AccountQueries } = await import('./queries/account-queries.ts')
  const queries = new AccountQueries(database, { clock })
  return { ask: queries.ask, close: () => queries.close() }
}
