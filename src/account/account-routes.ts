import type { AccountRoutes } from './account-route.ts'
import { figureRoutes } from './figure-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { walletRoutes } from './wallets/wallet-routes.ts'

/** Every operation that the page's API offers to a session; a test requests each of them in each role. */
export const accountRoutes: AccountRoutes = { ...sessionRoutes, ...figureRoutes, ...keyRoutes, ...walletRoutes }
