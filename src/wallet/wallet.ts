import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock } from '#contract/clock.ts'
import { type Approvals, openApprovals } from './approvals.ts'
import { fileRecords } from './file-records.ts'
import { listPayments, type Payment } from './journal.ts'
import type { WalletKey } from './keys.ts'
import type { Order } from './order.ts'
import { type PaidOrder, pay } from './pay.ts'
import { addPayee } from './payees.ts'
import type { Payee, Policy } from './policy.ts'
import type { Records } from './records.ts'
import { recover } from './recover.ts'
import type { Send } from './send-payment.ts'
import { tightenByFile } from './settings-file.ts'
import { signIn } from './sign-in.ts'
import { openState, type State } from './state.ts'
import { refuseWhenStopped } from './stop-switch.ts'
import type { Till } from './till.ts'
import type { Pause } from './top-up-lease.ts'
import { type WalletStatus, walletStatus } from './wallet-status.ts'

export interface WalletOptions {
  key: WalletKey
  policy: Policy
  /** The data folder, or a state that was opened already to share its connection. */
  stateFolder?: string
  state?: State
  /** Those in the state's file unless told; closed with the wallet. */
  records?: Records
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
  status(): Promise<WalletStatus>
  /** Newest first. */
  receipts(limit: number): Promise<Payment[]>
  readonly approvals: Approvals
  /** For configuration and `wallet create --service`: a payee that a person has named. */
  pinPayee(payee: Payee, by: string): Promise<void>
  /** Sends open payments again, the same bytes; those that stay open are told by `status`. */
  recover(send: Send): Promise<Payment[]>
  close(): Promise<void>
}

/** Opens nothing on disk but the settings file; the state is opened by its first use. */
export function openWallet(options: WalletOptions): Wallet {
  const { key, clock = systemClock, pause = delay } = options
  const state = options.state ?? openState(options.stateFolder ?? noFolder())
  const { folder } = state
  const policy = tightenByFile(options.policy, folder)
  const records = options.records ?? fileRecords(state, clock)
  const till: Till = { records, folder, key, policy, pause }
  return {
    address: key.address,
    policy,
    approvals: openApprovals(records, folder),
    async signIn(url) {
      await records.read(() => refuseWhenStopped(folder))
      return signIn(key, policy, url, clock.now())
    },
    pay: (order, send) => pay(till, order, send),
    status: () => records.read(nowMs => walletStatus(folder, policy, key.address, nowMs)),
    receipts: limit => records.read(() => listPayments(limit)),
    pinPayee: (payee, by) => records.decide(nowMs => addPayee(payee, by, nowMs)),
    recover: send => recover(till, send),
    async close() {
      await records.close()
      state.close()
    },
  }
}

function noFolder(): never {
  throw new TypeError('A wallet needs a stateFolder or a state.')
}
