import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { usd } from '../../kit/format.ts'
import { me } from '../session.ts'
import { chainOf, switchChain } from './evm.ts'
import { chainNumber, type Order, type ServerClock, signPayment, usdcText } from './payment.ts'
import { payWith } from './send-payment.ts'
import { useWalletCall, WalletCallNote } from './wallet-call.tsx'

/** A payment as the user chose it, with the answers of the wallet and the server. */
export interface ChosenPayment {
  order: Order
  isOwnAccount: boolean
  /** The wallet's chain; null for Solana, or if the wallet names none. */
  chain: number | null
}

interface Props {
  chosen: ChosenPayment
  clock: ServerClock
  back(): void
}

/** The whole payment before it is signed: its cost, the payee, and the account that gets the credit. */
export function PayReview({ chosen, clock, back }: Props): JSX.Element {
  const { order, isOwnAccount } = chosen
  const { offer, payer, amount } = order
  const chain = useSignal(chosen.chain)
  const { run, ...call } = useWalletCall()
  const needed = payer.kind === 'evm' ? chainNumber(offer) : null
  const isOnChain = chain.value === needed
  const isBusy = call.waitsFor !== null
  const change = () => {
    if (payer.kind !== 'evm' || needed === null) return
    void run(
      payer.wallet.name,
      async () => {
        await switchChain(payer.wallet, needed, offer.on.name)
        return chainOf(payer.wallet)
      },
      now => {
        chain.value = now
      },
    )
  }
  return (
    <>
      <h2 class="title">Pay {usdcText(amount)}?</h2>
      <PaymentFacts {...chosen} />
      {!isOwnAccount && <OtherAccount />}
      {!isOnChain && (
        <p class="refused" role="alert">
          The wallet is on {chain.value === null ? 'an unknown chain' : `chain ${chain.value}`}. This payment needs{' '}
          {offer.on.name} (chain {needed}).{' '}
          <button type="button" disabled={isBusy} onClick={change}>
            Switch to {offer.on.name}
          </button>
        </p>
      )}
      <WalletCallNote {...call} />
      <p class="controls">
        <button type="button" disabled={isBusy} onClick={back}>
          Back
        </button>
        <button
          type="button"
          class="main"
          disabled={isBusy || !isOnChain}
          onClick={() => run(payer.wallet.name, () => signPayment(order, clock), payWith)}
        >
          {isOwnAccount ? 'Sign and pay' : 'Sign and pay for the wallet’s account'}
        </button>
      </p>
      <p class="quiet">
        {payer.kind === 'evm'
          ? 'The wallet signs one authorization: this amount of USDC, to this address, valid for a few minutes.'
          : 'The wallet signs one transaction with one transfer: this amount of USDC, to the token account of this address. It expires half a minute after it was prepared.'}{' '}
        If an answer is lost, this page sends the same signed payment again, so you never pay twice.
      </p>
    </>
  )
}

function PaymentFacts({ order, isOwnAccount }: ChosenPayment): JSX.Element {
  const { offer, payer, amount } = order
  return (
    <dl class="facts">
      <dt>Credit</dt>
      <dd>{usd(amount)}</dd>
      <dt>From</dt>
      <dd>
        <code>{payer.address}</code>
      </dd>
      <dt>To</dt>
      <dd>
        <code>{offer.requirement.payTo}</code>
      </dd>
      <dt>On</dt>
      <dd>{offer.on.name}. The service pays the network fee.</dd>
      <dt>Credit goes to</dt>
      <dd>{isOwnAccount ? 'this account' : `the account of the wallet ${payer.address}`}</dd>
    </dl>
  )
}

function OtherAccount(): JSX.Element {
  return (
    <p class="refused" role="alert">
      <strong>This does not top up the account that you are signed in to</strong>
      {me.value ? ` (${me.value.who})` : ''}. The credit goes to the account of the wallet that pays. To use it, sign in
      with that wallet.
      {me.value?.kind === 'key' && ' To get credit for an API key’s account, ask the operator.'}
    </p>
  )
}
