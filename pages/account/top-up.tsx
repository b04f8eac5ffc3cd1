import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { RefusedNote } from '../kit/dialog.tsx'
import { usd } from '../kit/format.ts'
import { CopyText } from '../kit/text.tsx'
import type { Refused } from '../kit/wire.ts'
import { ask, me } from './session.ts'
import { PayForm } from './wallets/pay-form.tsx'
import { type Offer, readOffers, type ServerClock, serverClock, usdcText } from './wallets/payment.ts'
import { forgetOutcome, isMine, isSending, open, outcome, sendAgain, takeUpPayment } from './wallets/send-payment.ts'
import { refusalOf } from './wallets/untrusted.ts'
import type { TopUpTerms } from './wallets/wire.ts'

/** How to buy credit: from a browser wallet, or through the API. */
export function TopUp(): JSX.Element {
  useEffect(takeUpPayment, [])
  return (
    <div class="card">
      {open.value ? (
        isMine(open.value) ? (
          <OpenPayment />
        ) : (
          <OtherPayment />
        )
      ) : lastOutcome()?.state === 'credited' ? (
        <Credited />
      ) : (
        <NewPayment />
      )}
    </div>
  )
}

/** The last outcome, if it belongs to the customer who is signed in. */
const lastOutcome = () => (outcome.value && isMine(outcome.value) ? outcome.value : null)

/** The data that the form needs from the server, requested when the form opens. */
interface Opened {
  terms: TopUpTerms
  offers: readonly Offer[]
  clock: ServerClock
}

function NewPayment(): JSX.Element {
  const opened = useSignal<Opened | null>(null)
  const refused = useSignal<Refused | null>(null)
  const isBusy = useSignal(false)
  const begin = async () => {
    isBusy.value = true
    refused.value = null
    forgetOutcome()
    try {
      const terms = await ask<TopUpTerms>('wallet/top-up', {})
      opened.value = { terms, offers: await readOffers(terms), clock: serverClock(terms) }
    } catch (error) {
      refused.value = refusalOf(error)
    }
    isBusy.value = false
  }
  const last = lastOutcome()
  if (opened.value?.offers.length) return <PayForm {...opened.value} />
  return (
    <>
      {last?.state === 'refused' && <RefusedNote refused={last} />}
      {opened.value ? (
        <p>This service accepts no payments in USDC. Ask its operator for credit.</p>
      ) : (
        <p>
          <button type="button" class="main" disabled={isBusy.value} onClick={begin}>
            Top up from a wallet
          </button>
        </p>
      )}
      <RefusedNote refused={refused.value} />
      <p class="quiet">
        You pay in USDC on Base or Solana, from a browser wallet. The credit goes to the account of the wallet that pays
        {me.value?.kind === 'key'
          ? ', not to this API key’s account. To get credit for that account, ask the operator. '
          : '. '}
        Programs use <a href="/docs/topUpX402Balance">POST /x402/top-up</a>.
      </p>
    </>
  )
}

/** A payment whose outcome is unknown: it is sent again, and nothing new is signed. */
function OpenPayment(): JSX.Element | null {
  const payment = open.value
  if (!payment) return null
  const last = lastOutcome()
  return (
    <>
      <h2 class="title">Payment of {usdcText(payment.amount)}: pending</h2>
      <p>
        From <code>{payment.payer}</code> on {payment.networkName}.
      </p>
      <p role="status">
        {last?.state === 'open' ? `${last.happened} ` : ''}
        {isSending.value
          ? 'Waiting for the service.'
          : 'Send the same signed payment again: it is charged once, however often it is sent.'}
      </p>
      <p>
        <button type="button" class="main" disabled={isSending.value} onClick={() => sendAgain()}>
          Send the same payment again
        </button>
      </p>
      <p class="quiet">
        This tab keeps the signed payment until its outcome is known, even if you reload. Keep the tab open, and do not
        sign another payment until then.
      </p>
    </>
  )
}

/** Tells another user of this tab that it keeps a payment, without any details. */
function OtherPayment(): JSX.Element {
  return (
    <>
      <h2 class="title">Unfinished payment from another account</h2>
      <p role="status">This tab keeps a signed payment from another account, and its outcome is not known.</p>
      <p>Sign in to that account to finish it. To pay from this account, open another tab.</p>
    </>
  )
}

function Credited(): JSX.Element | null {
  const last = lastOutcome()
  if (last?.state !== 'credited') return null
  return (
    <>
      <h2 class="title">Paid</h2>
      <p role="status">{usd(last.credited)} credited.</p>
      <dl class="facts">
        <dt>To the account of</dt>
        <dd>
          <code>{last.wallet}</code>
        </dd>
        <dt>Its balance</dt>
        <dd>{usd(last.balance)}</dd>
        <dt>Payment</dt>
        <dd>
          <code>{last.paymentId}</code>
        </dd>
        <dt>Transaction</dt>
        <dd>
          <CopyText text={last.transaction} what="the transaction" />
        </dd>
      </dl>
      <p>
        <button type="button" onClick={forgetOutcome}>
          Done
        </button>
      </p>
    </>
  )
}
