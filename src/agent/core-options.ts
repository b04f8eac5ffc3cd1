import type { Clock } from '#contract/clock.ts'
import type { Policy } from '#wallet/policy.ts'

export interface CoreOptions {
  /** With its path: `https://host/api/v1`. */
  baseUrl: string
  /** Pays from an account; nothing is ever topped up with it. */
  apiKey?: string | undefined
  /** EVM private key, hex; pays from the wallet. It wins where both are given. */
  walletKey?: string | undefined
  /** The defaults where absent. */
  policy?: Policy | undefined
  stateFolder?: string | undefined
  /** The only folder that is written to; `output` in the state folder where absent. */
  outputFolder?: string | undefined
  /** Folders whose files may be sent, beside the output folder. */
  inputFolders?: readonly string[] | undefined
  vendor?: string | undefined
  clock?: Clock | undefined
  /** Takes the place of the agent's own connections. */
  fetch?: ((request: Request) => Response | Promise<Response>) | undefined
}
