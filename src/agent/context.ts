import type { Client } from '#client/client.ts'
import type { Pause } from '#client/retry/retry.ts'
import type { TopUpClient } from '#client/top-up.ts'
import type { Clock } from '#contract/time.ts'
import type { Approvals } from '#wallet/approvals/approvals.ts'
import type { ChainNodes } from '#wallet/chains/nodes.ts'
import type { Records } from '#wallet/records/records.ts'
import type { State } from '#wallet/records/state.ts'
import type { Policy } from '#wallet/rules/policy.ts'
import type { WalletRefusal } from '#wallet/terms/refusal.ts'
import type { Wallet } from '#wallet/wallet.ts'

/** What every part of an agent may use of the other rooms; `open-agent.ts` adds the agent's own parts to it. */
export interface AgentContext {
  client: Client
  topUps: TopUpClient
  /** Null with an API key alone, and without any key. */
  wallet: Wallet | null
  /** Whether a setting names the service; for messages only. */
  isServiceNamed: boolean
  /** Installed by a desktop assistant, which brings no `farebox` command; for messages only. */
  isBundle: boolean
  /** Address of an encrypted key that is still locked; for messages only. */
  lockedWallet: string | null
  /** Why that key could not be unlocked; null when no passphrase was tried. */
  lockedBecause: Pick<WalletRefusal, 'sentence' | 'nextStep'> | null
  /** As the settings name them; the public ones by default. */
  nodes: ChainNodes
  pays: 'wallet' | 'apiKey' | 'nothing'
  policy: Policy
  state: State
  /** The wallet's journal, shared where several processes have one budget. */
  records: Records
  approvals: Approvals
  clock: Clock
  /** How the agent waits. */
  pause: Pause
}
