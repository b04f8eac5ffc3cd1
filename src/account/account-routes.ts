import type { AccountRoutes } from './account-route.ts'
import { figureRoutes } from './figure-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { topUpRoutes } from './wallets/top-up-routes.ts'

/** Every operation that the page's API offers to a session; a test requests each of them in each role. */
export const accountRoutes: AccountRoutes = { ...sessionRoutes, ...figureRoutes, ...keyRoutes, ...topUpRoutes }
