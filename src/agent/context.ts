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

/** What every part of an agent may use from other rooms; `open-agent.ts` adds the agent's own parts. */
export interface AgentContext {
  client: Client
  topUps: TopUpClient
  /** Null if an API key pays, or there is nothing to pay with. */
  wallet: Wallet | null
  /** Whether a setting names the service; only for messages. */
  isServiceNamed: boolean
  /** Installed by a desktop assistant, without a `farebox` command; only for messages. */
  isBundle: boolean
  /** Address of an encrypted key that is still locked; only for messages. */
  lockedWallet: string | null
  /** Why that key could not be unlocked; null if no passphrase was tried. */
  lockedBecause: Pick<WalletRefusal, 'sentence' | 'nextStep'> | null
  /** From the settings; the public ones by default. */
  nodes: ChainNodes
  pays: 'wallet' | 'apiKey' | 'nothing'
  policy: Policy
  state: State
  /** The wallet's journal, shared if several processes have one budget. */
  records: Records
  approvals: Approvals
  clock: Clock
  pause: Pause
}
