import type { WalletKey } from './keys.ts'
import type { Policy } from './policy.ts'
import type { Records } from './records.ts'
import type { Pause } from './top-up-lease.ts'

/** What it takes to pay. */
export interface Till {
  records: Records
  /** Where the switch-off file would lie. */
  folder: string
  key: WalletKey
  policy: Policy
  pause: Pause
}
