import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { RefusedNote } from '../../kit/dialog.tsx'
import { usd } from '../../kit/format.ts'
import type { Refused } from '../../kit/wire.ts'
import { chainOf, connectEvm } from './evm.ts'
import { type ChosenPayment, PayReview } from './pay-review.tsx'
import { isOwnAccount, type Offer, type Payer, type ServerClock, usdcText } from './payment.ts'
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
