import { effect, signal } from '@preact/signals'
import { me } from '../session.ts'
import { type SignedPayment, topUpPath } from './payment.ts'
import { bytesOfBase64, memberOf, shownText, WalletRefusal } from './untrusted.ts'

/**
 * Sends a signed payment until its outcome is known, and always the same one. It is kept in `sessionStorage` before it
 * is sent, so a reload continues with it, and nothing else is signed while it is open.
 */

interface OpenPayment extends SignedPayment {
  /** True if it may have reached the service already. */
  wasSent: boolean
  /** The customer who signed it. Its details and outcome are shown to no one else. */
  account: string
}

/** The payment whose outcome is unknown; the last outcome; and whether the payment is being sent at this moment. */
export const open = signal<OpenPayment | null>(null)
export const outcome = signal<(Outcome & { account: string }) | null>(null)
export const isSending = signal(false)

// An outcome ends with the sign-in. An open payment outlives it, because this is the only copy.
effect(() => {
  if (me.value === null) outcome.value = null
})

/** Whether this belongs to the customer who is signed in. */
export const isMine = ({ account }: { account: string }): boolean => account === me.value?.account

const keptAs = 'farebox-signed-payment'

const keep = (payment: OpenPayment): void => sessionStorage.setItem(keptAs, JSON.stringify(payment))

/** Takes up a payment that this tab signed before it was reloaded. */
export function takeUpPayment(): void {
  if (open.value) return
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(keptAs) ?? 'null')
    const [header, networkName, payer, amount, account] = ['header', 'networkName', 'payer', 'amount', 'account'].map(
      name => memberOf(kept, name),
    )
    if (typeof header !== 'string' || typeof amount !== 'string' || !/^\d{1,18}$/.test(amount)) return
    const wasSent = memberOf(kept, 'wasSent') !== false
    open.value = { header, networkName: `${networkName}`, payer: `${payer}`, amount, account: `${account}`, wasSent }
  } catch {
    // A stored value that cannot be parsed was not written by this page.
  }
}

/** Keeps a payment, then sends it. Refuses a second one, which would overwrite the only copy of the first. */
export async function payWith(payment: SignedPayment): Promise<void> {
  takeUpPayment()
  if (open.value)
    throw new WalletRefusal('A payment is pending, and its outcome is unknown.', 'Send that payment again first.')
  const kept = { ...payment, wasSent: false, account: me.value?.account ?? '' }
  keep(kept)
  open.value = kept
  await sendAgain()
}

/** How often the same payment is sent before the page asks its user; each try takes up to `answerMs`. */
const tries = 5

/** Sends the open payment, again while its outcome is not known. */
export async function sendAgain(): Promise<void> {
  if (isSending.value || !open.value) return
  isSending.value = true
  for (let left = tries; left > 0 && open.value; left--) {
    const payment: OpenPayment = open.value
    // A page that is closed during this try does not learn whether the payment reached the service.
    keep({ ...payment, wasSent: true })
    const answer = await sendOnce(payment)
    outcome.value = { ...answer, account: payment.account }
    if (answer.state !== 'open') {
      open.value = null
      sessionStorage.removeItem(keptAs)
    } else {
      open.value = { ...payment, wasSent: payment.wasSent || !answer.isUntouched }
      keep(open.value)
      if (left > 1) await new Promise(resolve => setTimeout(resolve, answer.retrySeconds * 1_000))
    }
  }
  isSending.value = false
}

/** Returns to the form once the user has read the outcome. */
export function forgetOutcome(): void {
  if (!open.value) outcome.value = null
}

/** The outcome of sending a payment. */
type Outcome =
  | { state: 'credited'; wallet: string; credited: string; balance: string; paymentId: string; transaction: string }
  /** No money moved, and this payment can no longer move any. */
  | { state: 'refused'; happened: string; next: string }
  /** Not known: the same payment must be sent again. `isUntouched` if this attempt certainly moved no money. */
  | { state: 'open'; happened: string; retrySeconds: number; isUntouched?: boolean }

/** The server itself waits 30 seconds for the chain. */
const answerMs = 60_000
const retrySeconds = 3

/** Sends a signed payment. Anything but a clear answer leaves it open, because it may have been taken. */
async function sendOnce({ header, wasSent }: OpenPayment): Promise<Outcome> {
  const response = await fetch(topUpPath, {
    ...{ method: 'POST', headers: { 'PAYMENT-SIGNATURE': header }, cache: 'no-store', redirect: 'error' },
    signal: AbortSignal.timeout(answerMs),
  }).catch(() => null)
  const body: unknown = await response?.json().catch(() => null)
  if (!response || body === null)
    return { state: 'open', happened: 'The answer was lost, so the payment may have gone through.', retrySeconds }
  const after = Number(response.headers.get('retry-after'))
  const wait = after > 0 && after <= 120 ? after : retrySeconds
  const credited = response.ok ? creditedOf(body, response.headers.get('PAYMENT-RESPONSE') ?? '') : null
  if (credited) return credited
  const reason = memberOf(memberOf(body, 'details'), 'reason')
  // A 400 may come from a proxy. After a lost answer, only these reasons mean that no money moved.
  const isRefused = memberOf(body, 'error') === 'X402_INVALID_PAYMENT' && typeof reason === 'string'
  if (isRefused && (!wasSent || Object.hasOwn(reasons, reason)))
    return { state: 'refused', ...refusalFor(reason, memberOf(body, 'message')) }
  return { state: 'open', ...openFor(response.status, body, wasSent), retrySeconds: wait }
}

/** What an answer means for a payment that stays open. An unknown answer may come from a proxy at any moment. */
function openFor(status: number, body: unknown, wasSent: boolean): { happened: string; isUntouched: boolean } {
  if (status === 429)
    return { happened: 'Too many requests: the service has not looked at the payment yet.', isUntouched: true }
  const error = memberOf(body, 'error')
  if (error === 'X402_SETTLEMENT_PENDING')
    return { happened: 'The service has the payment, and it is not settled yet.', isUntouched: false }
  // Without this hint, the service failed at an unknown moment, perhaps after it submitted the payment.
  const isUntouched = error === 'X402_TOP_UP_FAILED' && memberOf(memberOf(body, 'details'), 'retry') === 'same-payload'
  const happened =
    isUntouched && !wasSent
      ? 'The service has not submitted the payment yet.'
      : 'It is not known whether the service submitted the payment.'
  return { happened, isUntouched }
}

function creditedOf(body: unknown, settlement: string): Outcome | null {
  const data = memberOf(body, 'data')
  const [wallet, paymentId] = [memberOf(data, 'walletAddress'), memberOf(data, 'paymentId')]
  const [credited, balance] = [microUsdOf(memberOf(data, 'amountCredited')), microUsdOf(memberOf(data, 'newBalance'))]
  if (typeof wallet !== 'string' || typeof paymentId !== 'string' || credited === null || balance === null) return null
  return { state: 'credited', wallet, credited, balance, paymentId, transaction: transactionIn(settlement) }
}

const microUsdOf = (usd: unknown): string | null =>
  typeof usd === 'number' && Number.isFinite(usd) ? `${BigInt(Math.round(usd * 1_000_000))}` : null

function transactionIn(settlement: string): string {
  try {
    return `${memberOf(JSON.parse(new TextDecoder().decode(bytesOfBase64(settlement))), 'transaction') ?? ''}`
  } catch {
    return ''
  }
}

/** Messages for the reasons that the user can fix. */
const reasons: Readonly<Record<string, readonly [happened: string, next: string]>> = {
  insufficient_funds: [
    'The wallet holds too little USDC on this network.',
    'Add USDC, choose a smaller amount, or change the network.',
  ],
  expired: [
    'The signature expired before the payment reached the chain.',
    'Pay again and sign within five minutes, on Solana within half a minute.',
  ],
  invalid_signature: [
    'The signature is not from the account that pays.',
    'Choose that account in the wallet and pay again, or use another wallet.',
  ],
  contract_wallet: ['The payer is a contract wallet, which this service does not accept.', 'Use an ordinary account.'],
  undeployed_wallet: ['The payer is a contract wallet that is not deployed yet.', 'Use an ordinary account.'],
  wallet_guard: [
    'The wallet added its own checks to the payment.',
    'Switch off transaction protection in the wallet, use another wallet, or pay on Base.',
  ],
  amount_too_low: ['The amount is below the minimum.', 'Choose a larger amount.'],
  amount_too_high: ['The amount is above the maximum.', 'Choose a smaller amount.'],
  nonce_used: ['This authorization was used or cancelled elsewhere.', 'Pay again, which signs a new one.'],
  transaction_failed: [
    'The transaction failed on the chain, so nothing moved.',
    'Check the USDC balance and pay again.',
  ],
  simulation_failed: ['The token refuses this transfer.', 'Check the wallet, or use another one.'],
}

function refusalFor(reason: string, message: unknown): { happened: string; next: string } {
  const known = Object.hasOwn(reasons, reason) ? reasons[reason] : undefined
  if (known) return { happened: `${known[0]} No money moved.`, next: known[1] }
  return {
    happened: `The service refused the payment (${shownText(reason, 60)}): ${shownText(message, 300)}`,
    next: 'No money moved.',
  }
}
