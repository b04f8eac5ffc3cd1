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
  /** Of the other rails; `key` is the one of Base where there is one. */
  otherKeys?: readonly WalletKey[]
  /** The public ones unless named; `none` asks nobody. */
  nodes?: ChainNodes
  policy: Policy
  /** The data folder, or a state that was opened already to share its connection. */
  stateFolder?: string
  state?: State
  /** Those in the state's file unless told; closed with the wallet. */
  records?: Records
  /** Where it is noted which journal counts for a key; the user's own on this machine unless told. */
  notesFolder?: string | undefined
  clock?: Clock
  pause?: Pause
}

/** Decides, journals and signs; sending is passed in. Every method throws `WalletRefusal` or `NeedsApproval`. */
export interface Wallet {
  /** What the wallet goes by, of its addresses the first; another one may pay. */
  readonly address: string
  /** One a rail, Base first. */
  readonly addresses: readonly string[]
  /** The address whose account at the service is used now. */
  account(): Promise<string>
  /** Takes the account in which credit was found; where the wallet has paid before, that one stays. */
  useAccount(address: string | null): void
  /** As it holds: the environment's, narrowed by the settings file. */
  readonly policy: Policy
  /**
   * Value of `SIGN-IN-WITH-X` for one request to the configured service; of the account in use unless told. `skewMs`: how
   * far the service's clock is ahead of the wallet's.
   */
  signIn(url: string, options?: { address?: string; skewMs?: number }): Promise<string>
  /** One payment within the policy; an open one is sent again first, the same bytes. */
  pay(order: Order, send: Send): Promise<PaidOrder>
  /** Where the policy refills credit ahead of need, and an answer has told too little of it. Fails for nobody. */
  refill(seen: SeenCredit, offers: () => Promise<Offer>, send: Send): Promise<void>
  status(): Promise<WalletStatus>
  /** Newest first. */
  receipts(limit: number): Promise<Payment[]>
  readonly approvals: Approvals
  /** For configuration and `wallet create --service`: a payee that the user has named. */
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
  throw new TypeError('A wallet needs a stateFolder or a state.')
}

const statement = 'Use the prepaid credit of this wallet.'

/**
 * A fresh `SIGN-IN-WITH-X` for one request (brief §5.2). The text is made from the configured origin and nothing that a
 * service said, so that no service can have a login for another one signed.
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
    // Without the query, which may hold what is nobody else's business.
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
    sentence: 'The settings leave no chain on which this wallet may act.',
    nextStep: 'Check `networks` in policy.json.',
  })
}
