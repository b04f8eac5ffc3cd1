import type { Client } from '#client/client.ts'
import type { Pause } from '#client/retry/wait-budget.ts'
import type { TopUpClient } from '#client/top-up.ts'
import type { Clock } from '#contract/time.ts'
import type { Approvals } from '#wallet/approvals/approvals.ts'
import type { ChainNodes } from '#wallet/chains/nodes.ts'
import type { Records } from '#wallet/records/records.ts'
import type { State } from '#wallet/records/state.ts'
import type { Policy } from '#wallet/rules/policy.ts'
import type { WalletRefusal } from '#wallet/terms/refusal.ts'
import type { Wallet } from '#wallet/wallet.ts'
import type { Files } from './media/files.ts'
import type { Previews } from './media/previews.ts'
import type { Refills } from './wallet/refills.ts'

/** What one agent is made of; every part of the room takes what it needs of it. */
export interface Core {
  client: Client
  topUps: TopUpClient
  /** Null with an API key alone, and with nothing. */
  wallet: Wallet | null
  /** Whether a person has said which service to use; for words only. */
  isServiceNamed: boolean
  /** Installed by a desktop assistant, where nobody has a `farebox` command; for words only. */
  isBundle: boolean
  /** Address of an encrypted key that nobody has opened; for words only. */
  lockedWallet: string | null
  /** What came of opening it; null where nobody tried. */
  lockedBecause: Pick<WalletRefusal, 'sentence' | 'nextStep'> | null
  /** As they are named; the public ones where they are not. */
  nodes: ChainNodes
  pays: 'wallet' | 'apiKey' | 'nothing'
  policy: Policy
  state: State
  /** The wallet's journal; with others' where several processes share one budget. */
  records: Records
  approvals: Approvals
  /** What answers tell of the credit goes to it. */
  refills: Refills
  files: Files
  previews: Previews
  clock: Clock
  /** How the agent waits. */
  pause: Pause
}
