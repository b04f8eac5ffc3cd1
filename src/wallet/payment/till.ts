import type { ChainNodes } from '../chains/chain-nodes.ts'
import type { WalletKey } from '../keys/keys.ts'
import type { Records } from '../records/records.ts'
import type { Policy } from '../rules/policy.ts'
import type { Pause } from './top-up-lease.ts'

/** What it takes to pay. */
export interface Till {
  records: Records
  /** Where the switch-off file would lie. */
  folder: string
  /** One a rail, Base first. */
  keys: readonly WalletKey[]
  /** The one that pays. */
  key: WalletKey
  /** As the owner has named them; within a payment those that may be asked about it. */
  nodes: ChainNodes
  /** The account that was found to have credit before this wallet has ever paid. */
  found: { address: string | null }
  policy: Policy
  /** Notes outside of the data folder how far the journal has come; refused where it lacks what was noted. */
  noteJournal(): Promise<void>
  pause: Pause
}
