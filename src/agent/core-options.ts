import type { Pause } from '#client/retry/wait-budget.ts'
import type { Clock } from '#contract/time.ts'
import type { Policy } from '#wallet/rules/policy.ts'

export interface CoreOptions {
  /** With its path: `https://host/api/v1`. */
  baseUrl: string
  /** Pays from an account; nothing is ever topped up with it. */
  apiKey?: string | undefined
  /** EVM private key, hex; pays from the wallet. It wins where both are given. */
  walletKey?: string | undefined
  /** Solana private key, base58 of 64 bytes; for the rail of Solana, beside the other key or instead of it. */
  solanaKey?: string | undefined
  /** Nodes of the chains: the public ones where absent, and `none` asks nobody. Without one of Solana nothing is paid there. */
  nodes?: { eip155?: string | undefined; solana?: string | undefined } | undefined
  /** The defaults where absent. */
  policy?: Policy | undefined
  stateFolder?: string | undefined
  /** A journal that other processes share with its caps: `postgres://…`. The state folder's own where absent. */
  journalUrl?: string | undefined
  /** Where it is noted which journal counts for a key; the user's own on this machine where absent. */
  notesFolder?: string | undefined
  /** The only folder that is written to; `output` in the state folder where absent. */
  outputFolder?: string | undefined
  /** Folders whose files may be sent, beside the output folder. */
  inputFolders?: readonly string[] | undefined
  /** Files that are never read, wherever they lie. */
  secretFiles?: readonly string[] | undefined
  vendor?: string | undefined
  clock?: Clock | undefined
  /** How the agent waits for jobs and answers; a test owns it. */
  pause?: Pause | undefined
  /** Takes the place of the agent's own connections. */
  fetch?: ((request: Request) => Response | Promise<Response>) | undefined
}
