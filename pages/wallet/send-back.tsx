import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { postJson } from '../kit/api.ts'
import { DialogForm } from '../kit/dialog.tsx'
import { usd } from '../kit/format.ts'
import { PassphraseField } from './stop-switch.tsx'
import type { WalletData } from './wallet-data.ts'
import type { PageForms, PlannedSend, WalletAddress, WalletState } from './wire.ts'

interface Props {
  wallet: WalletState
  from: WalletAddress
  data: WalletData
}

const textOf = (form: FormData, name: string): string => String(form.get(name) ?? '').trim()

/** Sends money back to its owner. It first shows what would be sent, for the owner to compare. */
export function SendBack({ wallet, from, data }: Props): JSX.Element {
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
