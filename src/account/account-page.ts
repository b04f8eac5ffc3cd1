import { onceLoaded } from '#host/packages.ts'
import type { AccountParts } from './account-route.ts'

/** The page of a running service's customers. Its code is loaded with the first request, because most services start without one. */
export class AccountPage {
  readonly #opened: () => Promise<{ answer(request: Request, address: string): Promise<Response> }>

  constructor(parts: AccountParts) {
    this.#opened = onceLoaded(async () => {
      const [{ AccountDoor }, { AccountSessions }, { sessionRoutes }] = await Promise.all([
        import('./account-door.ts'),
        import('./account-sessions.ts'),
        import('./session-routes.ts'),
      ])
      return new AccountDoor(sessionRoutes, { ...parts, sessions: new AccountSessions(parts) })
    })
  }

  async answer(request: Request, address: string): Promise<Response> {
    return (await this.#opened()).answer(request, address)
  }
}
