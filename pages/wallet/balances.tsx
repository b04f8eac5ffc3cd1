import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { postJson } from '../kit/api.ts'
import { DialogForm, RefusedNote } from '../kit/dialog.tsx'
import { usd, utcTime } from '../kit/format.ts'
import { CopyText, Qr, Words } from '../kit/text.tsx'
import { PassphraseField } from './stop-switch.tsx'
import type { WalletData } from './wallet-data.ts'
import type { HeldView, PageForms, PlannedSend, SeenView, WalletAddress, WalletState } from './wire.ts'

export function Balances({ wallet, data }: { wallet: WalletState; data: WalletData }): JSX.Element {
  const seen = data.holdings.value.value
  return (
    <section id="balances" aria-labelledby="balances-title">
      <h2 id="balances-title">Balances</h2>
      <RefusedNote refused={data.holdings.problem.value} />
      <div class="cards">
        <div class="card">
          <h3>Credit at the service</h3>
          <Amount seen={seen?.credit ?? null} />
          <p class="quiet">{wallet.service}</p>
          {wallet.refill && (
            <p class="quiet">
              Refilled by {usd(wallet.refill.by)} when it is below {usd(wallet.refill.below)}. {wallet.refill.note}
            </p>
          )}
        </div>
        {wallet.addresses.map(address => (
          <AddressCard
            key={address.address}
            wallet={wallet}
            data={data}
            address={address}
            seen={seen ? (seen.balances.find(each => each.address === address.address) ?? null) : null}
            isRead={seen !== null}
          />
        ))}
      </div>
    </section>
  )
}

function Amount({ seen }: { seen: SeenView | null }): JSX.Element {
  if (!seen) return <p class="amount quiet">…</p>
  if (seen.amount === null)
    return (
      <p class="amount-unknown">
        <Words text={`Unknown: ${seen.unknown ?? 'it was not reported'}.`} />
      </p>
    )
  return (
    <>
      <p class="amount">{usd(seen.amount)}</p>
      {seen.unknown !== null && seen.atMs !== null && (
        <p class="quiet">
          As of {utcTime(seen.atMs)}: {seen.unknown}.
        </p>
      )}
    </>
  )
}

interface AddressProps {
  wallet: WalletState
  data: WalletData
  address: WalletAddress
  seen: HeldView | null
  isRead: boolean
}

function AddressCard({ wallet, data, address, seen, isRead }: AddressProps): JSX.Element {
  const notAsked = { amount: null, atMs: null, unknown: 'the settings allow no payments on this chain' }
  return (
    <div class="card">
      <h3>
        USDC on {address.chain}
        {address.isPayer && <span class="badge">pays the service</span>}
      </h3>
      <Amount seen={seen ?? (isRead ? notAsked : null)} />
      <p>
        <CopyText text={address.address} what={`the address on ${address.chain}`} />
      </p>
      <details>
        <summary>Add money</summary>
        {wallet.isLocal ? (
          <p>The service is on this machine and uses test money: do not send this address real USDC.</p>
        ) : (
          <>
            <p>
              Send {usd(wallet.smallestTopUp)} or more in USDC on {address.chain}, from another wallet or an exchange.
              Choose this network there: tokens sent on another network are lost.
            </p>
            {address.qr && <Qr qr={address.qr} label={`QR code: ${address.qr.uri}`} />}
            {seen?.onRamp && (
              <p>
                The service suggests buying USDC at{' '}
                <a href={seen.onRamp.url} target="_blank" rel="noopener noreferrer">
                  {seen.onRamp.host}
                </a>
                . farebox has not checked that site.
              </p>
            )}
          </>
        )}
      </details>
      <p class="buttons">
        <SendBack wallet={wallet} from={address} data={data} />
      </p>
    </div>
  )
}

interface Props {
  wallet: WalletState
  from: WalletAddress
  data: WalletData
}

const textOf = (form: FormData, name: string): string => String(form.get(name) ?? '').trim()

/** Sends money back to its owner. It first shows what would be sent, for the owner to compare. */
function SendBack({ wallet, from, data }: Props): JSX.Element {
  const step = useSignal<'terms' | PlannedSend | null>(null)
  const close = () => {
    step.value = null
  }
  return (
    <>
      <button
        type="button"
        aria-label={`Send back from ${from.chain}`}
        onClick={() => {
          step.value = 'terms'
        }}
      >
        Send back…
      </button>
      {step.value === 'terms' && (
        <DialogForm
          key="terms"
          title={`Send USDC on ${from.chain} back`}
          action="Check it"
          // The next step shows the server's plan, and the closing of this dialog must not close it.
          close={() => {
            if (step.value === 'terms') step.value = null
          }}
          submit={async form => {
            const terms = {
              to: textOf(form, 'to'),
              amount: textOf(form, 'amount'),
              facilitator: textOf(form, 'facilitator'),
            }
            step.value = await postJson<PlannedSend>('/api/send/plan', terms satisfies PageForms['POST /api/send/plan'])
          }}
        >
          <label>
            To: an address of yours on {from.chain}
            <input type="text" name="to" autocomplete="off" spellcheck={false} required />
          </label>
          <label>
            Amount in USD, or <code>all</code>
            <input type="text" name="amount" autocomplete="off" required />
          </label>
          <details>
            <summary>Who settles the transfer</summary>
            <label>
              Facilitator: a URL; empty for the default
              <input type="url" name="facilitator" autocomplete="off" placeholder="https://" />
            </label>
          </details>
          <p class="quiet">
            An exchange may not credit transfers below its minimum. The caps do not apply: they limit what an assistant
            spends.
          </p>
        </DialogForm>
      )}
      {step.value !== null && step.value !== 'terms' && (
        <Confirm key="confirm" plan={step.value} wallet={wallet} data={data} close={close} />
      )}
    </>
  )
}

interface ConfirmProps {
  plan: PlannedSend
  wallet: WalletState
  data: WalletData
  close(): void
}

function Confirm({ plan, wallet, data, close }: ConfirmProps): JSX.Element {
  const { to, facilitator } = plan
  return (
    <DialogForm
      title={`Send ${usd(plan.amount)} back?`}
      action="Send it"
      close={close}
      submit={async form => {
        const given = { ending: textOf(form, 'ending'), passphrase: String(form.get('passphrase') ?? '') }
        await data.send('POST /api/send', { to, usd: plan.usd, facilitator, ...given })
        await data.holdings.refresh()
        await data.receipts.refresh()
      }}
    >
      <dl class="facts">
        <dt>To</dt>
        <dd>
          <code>{to}</code>
        </dd>
        <dt>From</dt>
        <dd>
          <code>{plan.from}</code>, which holds {usd(plan.balance)}
          {plan.held !== '0' && `, ${usd(plan.held)} of it reserved for pending payments`}
        </dd>
        <dt>On</dt>
        <dd>{plan.chain}</dd>
        <dt>Through</dt>
        <dd>
          {plan.through}, which pays the network fee. It learns both addresses and the amount, and cannot change them.
        </dd>
      </dl>
      {plan.notes.map(note => (
        <p key={note}>{note}</p>
      ))}
      {plan.isRepeated && (
        <p>An earlier transfer of this amount to this address is still pending. It will be continued.</p>
      )}
      <p>
        <strong>A transfer cannot be undone.</strong>
      </p>
      <label>
        The last {plan.lastCharacters} characters of the recipient’s address
        <input type="text" name="ending" autocomplete="off" spellcheck={false} required />
      </label>
      {wallet.needsPassphrase && <PassphraseField />}
    </DialogForm>
  )
}
