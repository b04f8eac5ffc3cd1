import type { Client } from '#client/client.ts'
import type { TopUpDesk } from '#client/top-up.ts'
import type { Pause } from '#client/wait-budget.ts'
import type { Clock } from '#contract/clock.ts'
import type { Approvals } from '#wallet/approvals.ts'
import type { Policy } from '#wallet/policy.ts'
import type { Records } from '#wallet/records.ts'
import type { WalletRefusal } from '#wallet/refusal.ts'
import type { State } from '#wallet/state.ts'
import type { Wallet } from '#wallet/wallet.ts'
import type { Files } from './files.ts'
import type { Refills } from './refills.ts'

/** What one agent is made of; every part of the room takes what it needs of it. */
export interface Core {
  client: Client
  topUps: TopUpDesk
  /** Null with an API key alone, and with nothing. */
  wallet: Wallet | null
  /** Address of an encrypted key that nobody has opened; for words only. */
  lockedWallet: string | null
  /** What came of opening it; null where nobody tried. */
  lockedBecause: Pick<WalletRefusal, 'sentence' | 'nextStep'> | null
  pays: 'wallet' | 'apiKey' | 'nothing'
  policy: Policy
  state: State
  /** The wallet's journal; with others' where several processes share one budget. */
  records: Records
  approvals: Approvals
  /** What answers tell of the credit goes to it. */
  refills: Refills
  files: Files
  clock: Clock
  /** How the agent waits. */
  pause: Pause
}
