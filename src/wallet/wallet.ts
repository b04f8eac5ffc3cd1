import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock } from '#contract/clock.ts'
import { type Approvals, openApprovals } from './approvals.ts'
import { decideCall, type PlannedCall } from './decide.ts'
import { listPayments, type Payment } from './journal.ts'
import type { WalletKey } from './keys.ts'
import { walletMigrations } from './migrations.ts'
import { NeedsApproval } from './needs-approval.ts'
import type { Order } from './order.ts'
import { type PaidOrder, pay } from './pay.ts'
import { addPayee } from './payees.ts'
import type { Payee, Policy } from './policy.ts'
import { type Prove, recover } from './recover.ts'
import { WalletRefusal } from './refusal.ts'
import type { Send } from './send-payment.ts'
import { tightenByFile } from './settings-file.ts'
import { signIn } from './sign-in.ts'
import { openState, type State } from './state.ts'
import { isStopped, refuseWhenStopped } from './stop-file.ts'
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
  /**
   * Returns where a call may be made at its quoted price; the approval of a person is used up by it. `requestHash`
   * binds it to this very request.
   */
  allowCall(call: PlannedCall & { requestHash: string }): void
  status(): WalletStatus
  /** Newest first. */
  receipts(limit: number): Payment[]
  readonly approvals: Approvals
  /** For configuration and `wallet create --service`: a payee that a person has named. */
  pinPayee(payee: Payee, by: string): void
  /** At start. A payment whose authorisation is over is given up where `prove` shows that it took nothing. */
  recover(send: Send, prove?: Prove): Promise<Payment[]>
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
    allowCall: call => allowCall(prepared(), approvals, call),
    status: () => walletStatus(state, policy, key.address, clock),
    receipts: limit => listPayments(prepared().state.database(), limit),
    pinPayee: (payee, by) => prepared().state.decide(db => addPayee(db, payee, by, clock.now())),
    recover: async (send, prove) => recover(prepared(), send, prove),
    close: () => state.close(),
  }
}

function allowCall({ state, policy }: Till, approvals: Approvals, call: PlannedCall & { requestHash: string }): void {
  const { requestHash } = call
  const decision = decideCall(
    policy,
    { isStopped: isStopped(state.folder), isApproved: facts => approvals.use(facts, requestHash, requestHash) },
    call,
  )
  if (decision.kind === 'refused') throw new WalletRefusal(decision.refusal)
  if (decision.kind === 'asks') throw new NeedsApproval(approvals.ask(decision.facts, requestHash))
}

function noFolder(): never {
  throw new TypeError('A wallet needs a stateFolder or a state.')
}
