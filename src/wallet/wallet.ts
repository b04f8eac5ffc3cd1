import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock } from '#contract/time.ts'
import { writeSignInHeader } from '#contract/wire/sign-in.ts'
import { type SignInFields, writeSignInMessage } from '#contract/wire/sign-in-message.ts'
import { type Approvals, openApprovals } from './approvals/approvals.ts'
import type { ChainNodes } from './chains/nodes.ts'
import type { WalletKey } from './keys/keys.ts'
import { signInLifeMs, signInNonceBytes } from './limits.ts'
import { decidedCall, type PaidOrder, pay } from './payment/pay.ts'
import { accountOf, type PayContext } from './payment/payer.ts'
import { refillCredit } from './payment/refill.ts'
import type { Send } from './payment/send-payment.ts'
import { recover } from './payment/settle.ts'
import type { Pause } from './payment/top-up-lease.ts'
import { listPayments, type Payment } from './records/journal.ts'
import { defaultNotesFolder, noteJournal } from './records/journal-of-key.ts'
import { fileRecords } from './records/open-records.ts'
import type { Records } from './records/records.ts'
import { openState, type State } from './records/state.ts'
import { amountOf } from './rules/decide.ts'
import { addPayee } from './rules/payees.ts'
import { type Policy, railOf } from './rules/policy.ts'
import { recorded } from './rules/refusals.ts'
import { tightenByFile } from './rules/settings-file.ts'
import { refuseWhenStopped } from './rules/stop-switch.ts'
import type { Offer, Order, Payee, SeenCredit } from './terms/order.ts'
import { WalletRefusal } from './terms/refusal.ts'
import { type WalletStatus, walletStatus } from './wallet-status.ts'

export interface WalletOptions {
  key: WalletKey
  /** For the other rails; `key` is that of Base if there is one. */
  otherKeys?: readonly WalletKey[]
  /** Public nodes by default; `none` makes no requests. */
  nodes?: ChainNodes
  policy: Policy
  /** The data folder, or a state that is already open, to share its connection. */
  dataFolder?: string
  state?: State
  /** Defaults to those in the state file; closed with the wallet. */
  records?: Records
  /** Where to record which journal belongs to a key; by default the user's own folder on this machine. */
  notesFolder?: string | undefined
  clock?: Clock
  pause?: Pause
}

/**
 * Decides, records and signs payments; the caller passes in how to send them. Every method throws `WalletRefusal` or
 * `NeedsApproval`.
 */
export interface Wallet {
  /** The wallet's name, the first of its addresses; another one may pay. */
  readonly address: string
  /** One per rail, Base first. */
  readonly addresses: readonly string[]
  /** Returns the address whose account at the service is used now. */
  account(): Promise<string>
  /** Uses the account in which credit was found. If the wallet has paid before, the account that paid stays. */
  useAccount(address: string | null): void
  /** The effective policy: the environment's, narrowed by the settings file. */
  readonly policy: Policy
  /**
   * Returns the value of `SIGN-IN-WITH-X` for one request to the configured service, for the account in use by default.
   * `skewMs` is how far the service's clock is ahead of the wallet's.
   */
  signIn(url: string, options?: { address?: string; skewMs?: number }): Promise<string>
  /** Makes one payment within the policy; an open one is sent again first, with the same bytes. */
  pay(order: Order, send: Send): Promise<PaidOrder>
  /** Refills if the policy allows refills and an answer has reported too little credit. Never throws. */
  refill(seen: SeenCredit, offers: () => Promise<Offer>, send: Send): Promise<void>
  status(): Promise<WalletStatus>
  /** Newest first. */
  receipts(limit: number): Promise<Payment[]>
  readonly approvals: Approvals
  /** For configuration and `wallet create --service`: adds a payee that the user has named. */
  pinPayee(payee: Payee, by: string): Promise<void>
  /** Sends open payments again, with the same bytes; `status` reports those that stay open. */
  recover(send: Send): Promise<Payment[]>
  close(): Promise<void>
}

/** Opens nothing on disk but the settings file; the state is opened on first use. */
export function openWallet(options: WalletOptions): Wallet {
  const { key, clock = systemClock, pause = delay } = options
  const state = options.state ?? openState(options.dataFolder ?? noFolder())
  const { folder } = state
  const policy = tightenByFile(options.policy, folder)
  const records = options.records ?? fileRecords(state, clock)
  const keys = [key, ...(options.otherKeys ?? [])]
  const addresses = [key.address, ...keys.slice(1).map(({ address }) => address)] as const
  const notesFolder = options.notesFolder ?? defaultNotesFolder()
  const noteKeys = async () => {
    for (const { address } of keys) await noteJournal(notesFolder, address, records)
  }
  const found: PayContext['found'] = { address: null }
  const nodes = options.nodes ?? {}
  const context: PayContext = { records, folder, keys, key, nodes, found, policy, pause, noteJournal: noteKeys }
  const payOne = (order: Order, send: Send): Promise<PaidOrder> => {
    const { call } = order
    const terms = { amountMicroUsd: amountOf(order), ...(call && { requestHash: call.requestHash }) }
    return recorded(records, decidedCall(order, key.address), terms, () => pay(context, order, send))
  }
  return {
    address: key.address,
    addresses,
    policy,
    account: async () => ((await accountOf(context)) ?? key).address,
    useAccount(address) {
      context.found.address = address
    },
    approvals: openApprovals(records, folder),
    async signIn(url, { address, skewMs = 0 } = {}) {
      await records.read(() => refuseWhenStopped(folder))
      const asked = keys.find(each => each.address === address)
      return signIn(asked ?? (await accountOf(context)) ?? key, policy, url, clock.now() + skewMs)
    },
    pay: payOne,
    async refill(seen, offers, send) {
      const { refill } = policy
      if (!refill) return
      const address = ((await accountOf(context)) ?? key).address
      await refillCredit({ context, refill, address, seen }, offers, order => payOne(order, send))
    },
    status: () =>
      records.read(nowMs => walletStatus({ folder, policy, addresses, found: context.found.address }, nowMs)),
    receipts: limit => records.read(() => listPayments(limit)),
    pinPayee: (payee, by) => records.decide(nowMs => addPayee(payee, by, nowMs)),
    recover: send => recover(context, send),
    async close() {
      await records.close()
      state.close()
    },
  }
}

function noFolder(): never {
  throw new TypeError('A wallet needs a dataFolder or a state.')
}

const statement = 'Use the prepaid credit of this wallet.'

/**
 * Creates a fresh `SIGN-IN-WITH-X` for one request (brief §5.2). The text contains only the configured origin and
 * nothing that a service said, so that no service can obtain a sign-in for another one.
 */
async function signIn(key: WalletKey, policy: Policy, url: string, nowMs: number): Promise<string> {
  const requested = URL.canParse(url) ? new URL(url) : null
  if (requested?.origin !== policy.origin)
    throw new WalletRefusal({
      rule: 'origin',
      sentence: `The wallet signs in only at ${policy.origin}, and the request goes to another address.`,
      nextStep: 'Check the address of the service in the configuration.',
    })
  const fields: SignInFields = {
    domain: requested.host,
    address: key.address,
    statement,
    // Without the query, which may contain private data.
    uri: `${requested.origin}${requested.pathname}`,
    version: '1',
    chainId: railOf(policy, key.address)?.network ?? noRail(),
    nonce: randomBytes(signInNonceBytes).toString('hex'),
    issuedAt: new Date(nowMs).toISOString(),
    expirationTime: new Date(nowMs + signInLifeMs).toISOString(),
  }
  const signature = await key.signMessage(writeSignInMessage(fields))
  return writeSignInHeader({ fields, signature }, 'message')
}

function noRail(): never {
  throw new WalletRefusal({
    rule: 'network',
    sentence: 'The settings allow no chain that this wallet can use.',
    nextStep: 'Check `networks` in policy.json.',
  })
}
