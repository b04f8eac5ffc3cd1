import type { Clock } from '#contract/clock.ts'
import type { WalletKey } from './keys.ts'
import type { Policy } from './policy.ts'
import type { State } from './state.ts'
import type { Pause } from './top-up-lease.ts'

/** What it takes to pay. */
export interface Till {
  state: State
  key: WalletKey
  policy: Policy
  clock: Clock
  pause: Pause
}
