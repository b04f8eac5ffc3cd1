import type { AccountRoutes } from './account-route.ts'
import { figureRoutes } from './figure-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { walletRoutes } from './wallets/wallet-routes.ts'

/** Everything that the page's API answers to a session; a test asks for each of them in each role. */
export const accountRoutes: AccountRoutes = { ...sessionRoutes, ...figureRoutes, ...keyRoutes, ...walletRoutes }
