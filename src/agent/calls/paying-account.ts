import type { Core } from '../core.ts'

/** The wallet's address whose account at the service pays now; null with an API key. */
export const payingAccount = async ({ wallet }: Pick<Core, 'wallet'>): Promise<string | null> =>
  (await wallet?.account()) ?? null
