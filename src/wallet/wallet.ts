import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock } from '#contract/clock.ts'
import { type Approvals, openApprovals } from './approvals.ts'
import { listPayments, type Payment } from './journal.ts'
import type { WalletKey } from './keys.ts'
import { walletMigrations } from './migrations.ts'
import type { Order } from './order.ts'
import { type PaidOrder, pay } from './pay.ts'
import { addPayee } from './payees.ts'
import type { Payee, Policy } from './policy.ts'
import { recover } from './recover.ts'
import type { Send } from './send-payment.ts'
import { tightenByFile } from './settings-file.ts'
import { signIn } from './sign-in.ts'
import { openState, type State } from './state.ts'
import { refuseWhenStopped } from './stop-file.ts'
import type { Till } from './till.ts'
import type { Pause } from './top-up-lease.ts'
import { type WalletStatus, walletStatus } from './wallet-status.ts'

export interface WalletOptions {
  key: WalletKey
  policy: Policy
  /** The data folder, or a state that was opened already to share its connection. */
  stateFolder?: string
  state?: State
  clock?: Clock
  pause?: Pause
}

/** Decides, journals and signs; whoever sends is lent to it. Every method throws `WalletRefusal` or `NeedsApproval`. */
export interface Wallet {
  readonly address: string
  /** As it holds: the environment's, narrowed by the settings file. */
  readonly policy: Policy
  /** Value of `SIGN-IN-WITH-X` for one request to the configured service. */
  signIn(url: string): Promise<string>
  /** One payment within the policy; an open one is sent again first, the same bytes. */
  pay(order: Order, send: Send): Promise<PaidOrder>
  status(): WalletStatus
  /** Newest first. */
  receipts(limit: number): Payment[]
  readonly approvals: Approvals
  /** For configuration and `wallet create --service`: a payee that a person has named. */
  pinPayee(payee: Payee, by: string): void
  /** Sends open payments again, the same bytes; those that stay open are told by `status`. */
  recover(send: Send): Promise<Payment[]>
  close(): void
}

/** Opens nothing on disk but the settings file; the state is opened by its first use. */
export function openWallet(options: WalletOptions): Wallet {
  const { key, clock = systemClock, pause = delay } = options
  const state = options.state ?? openState(options.stateFolder ?? noFolder())
  const policy = tightenByFile(options.policy, state.folder)
  const till: Till = { state, key, policy, clock, pause }
  const approvals = openApprovals(state, clock)
  const prepared = (): Till => {
    state.prepare('wallet', walletMigrations)
    return till
  }
  return {
    address: key.address,
    policy,
    approvals,
    async signIn(url) {
      refuseWhenStopped(state.folder)
      return signIn(key, policy, url, clock.now())
    },
    pay: async (order, send) => pay(prepared(), order, send),
    status: () => walletStatus(state, policy, key.address, clock),
    receipts: limit => listPayments(prepared().state.database(), limit),
    pinPayee: (payee, by) => prepared().state.decide(db => addPayee(db, payee, by, clock.now())),
    recover: async send => recover(prepared(), send),
    close: () => state.close(),
  }
}

function noFolder(): never {
  throw new TypeError('A wallet needs a stateFolder or a state.')
}
