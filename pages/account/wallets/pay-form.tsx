import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { RefusedNote } from '../../kit/dialog.tsx'
import { usd } from '../../kit/format.ts'
import type { Refused } from '../../kit/wire.ts'
import { me } from '../session.ts'
import { chainOf, connectEvm, switchChain } from './evm.ts'
import {
  chainNumber,
  isOwnAccount,
  type Offer,
  type Order,
  type Payer,
  type ServerClock,
  signPayment,
  usdcText,
} from './payment.ts'
import { payWith } from './send-payment.ts'
import { connectSolana } from './solana.ts'
import { useWalletCall, WalletCallNote } from './wallet-call.tsx'
import { type BrowserWallet, useWallets } from './wallets.ts'
import type { TopUpTerms } from './wire.ts'

interface Props {
  terms: TopUpTerms
  offers: readonly Offer[]
  clock: ServerClock
}

/**
 * Micro-USD of an amount as users type it; null for anything else. A comma is a decimal one, except before three
 * digits: 1,000 is one to some users and a thousand to others.
 */
function microUsdOf(text: string): bigint | null {
  const typed = text.trim()
  if (/,\d{3}$/.test(typed)) return null
  const [, whole, fraction = ''] = /^(\d{1,6})(?:\.(\d{1,6}))?$/.exec(typed.replace(',', '.')) ?? []
  return whole === undefined ? null : BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'))
}

async function payerOf(wallet: BrowserWallet): Promise<Payer> {
  if (wallet.kind === 'evm') return { kind: 'evm', wallet, address: await connectEvm(wallet) }
  const connected = await connectSolana(wallet)
  return { kind: 'solana', wallet, address: connected.address, connected }
}

/** The answers of the wallet and the server about a payment, before it is shown. */
async function prepare(wallet: BrowserWallet, offer: Offer, amount: string): Promise<ChosenPayment> {
  const payer = await payerOf(wallet)
  const chain = payer.kind === 'evm' ? await chainOf(payer.wallet) : null
  return { order: { offer, payer, amount }, isOwnAccount: await isOwnAccount(payer.address), chain }
}

const canPay = (wallet: BrowserWallet, { on }: Offer): boolean =>
  wallet.kind === on.kind && (wallet.kind === 'evm' || wallet.canPay)

/** The first step of a payment: its network, wallet and amount. The second is its review. */
export function PayForm({ terms, offers, clock }: Props): JSX.Element {
  const wallets = useWallets()
  const place = useSignal(0)
  const text = useSignal(usd(terms.suggested).replace(' USD', ''))
  const chosen = useSignal<ChosenPayment | null>(null)
  const refused = useSignal<Refused | null>(null)
  const { run, ...call } = useWalletCall()
  const offer = offers[place.value]
  const fitting = wallets.filter(wallet => offer && canPay(wallet, offer))
  const amount = microUsdOf(text.value)
  const least =
    offer && BigInt(offer.requirement.amount) > BigInt(terms.minimum) ? offer.requirement.amount : terms.minimum
  const isPayable = amount !== null && amount >= BigInt(least) && amount <= BigInt(terms.maximum)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const wallet = fitting[Number(form.get('wallet') ?? 0)]
    const range = `from ${usdcText(least)} to ${usdcText(terms.maximum)}`
    refused.value = isPayable
      ? null
      : { happened: 'This amount cannot be paid.', next: `Enter a number ${range}, such as 10 or 10.50.` }
    if (!isPayable || !offer || !wallet) return
    void run(
      wallet.name,
      () => prepare(wallet, offer, `${amount}`),
      answer => {
        chosen.value = answer
      },
    )
  }
  const back = () => {
    chosen.value = null
  }
  if (chosen.value) return <PayReview chosen={chosen.value} clock={clock} back={back} />
  return (
    <form onSubmit={submit}>
      <Choices title="Network" name="network" labels={offers.map(({ on }) => `${on.name}, in USDC`)} chosen={place} />
      <Choices
        key={place.value}
        title="Wallet"
        name="wallet"
        labels={fitting.map(({ name, hint }) => `${name} (${hint})`)}
      />
      {fitting.length === 0 && (
        <p>
          This browser has no wallet for {offer?.on.name}. Choose another network, or install a wallet for this one.
        </p>
      )}
      <Amount
        text={text.value}
        least={least}
        change={changed => {
          text.value = changed
          refused.value = null
        }}
      />
      <RefusedNote refused={refused.value} />
      <WalletCallNote {...call} />
      <p>
        <button type="submit" class="main" disabled={call.waitsFor !== null || fitting.length === 0}>
          Connect the wallet
        </button>
      </p>
      <p class="quiet">Nothing is signed yet. You will see the whole payment first.</p>
    </form>
  )
}

interface AmountProps {
  text: string
  least: string
  change(text: string): void
}

/** The amount to pay, and the credit that it buys. */
function Amount({ text, least, change }: AmountProps): JSX.Element {
  const amount = microUsdOf(text)
  return (
    <p>
      <label>
        Amount in USDC{' '}
        <input
          name="amount"
          inputMode="decimal"
          autocomplete="off"
          required
          value={text}
          aria-describedby="equivalent"
          onInput={event => change(event.currentTarget.value)}
        />
      </label>{' '}
      <span id="equivalent" class="quiet">
        {amount === null ? '' : `${usdcText(`${amount}`)} = ${usd(`${amount}`)} of credit. `}
        At least {usdcText(least)}.
      </span>
    </p>
  )
}

interface ChoicesProps {
  title: string
  name: string
  labels: readonly string[]
  chosen?: { value: number }
}

function Choices({ title, name, labels, chosen }: ChoicesProps): JSX.Element | null {
  if (labels.length === 0) return null
  return (
    <fieldset>
      <legend>{title}</legend>
      {labels.map((label, index) => (
        <label key={index} class="block">
          <input
            type="radio"
            name={name}
            value={index}
            defaultChecked={index === 0}
            onChange={() => {
              if (chosen) chosen.value = index
            }}
          />{' '}
          {label}
        </label>
      ))}
    </fieldset>
  )
}

/** A payment as the user chose it, with the answers of the wallet and the server. */
interface ChosenPayment {
  order: Order
  isOwnAccount: boolean
  /** The wallet's chain; null for Solana, or if the wallet names none. */
  chain: number | null
}

interface ReviewProps {
  chosen: ChosenPayment
  clock: ServerClock
  back(): void
}

/** The whole payment before it is signed: its cost, the payee, and the account that gets the credit. */
function PayReview({ chosen, clock, back }: ReviewProps): JSX.Element {
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
