import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { postJson } from '../kit/api.ts'
import { DialogForm } from '../kit/dialog.tsx'
import { Choice, filterOf, Search } from '../kit/list.tsx'
import { said } from '../kit/sections.tsx'
import { type Column, nothing } from '../kit/table.tsx'
import { Time, Words } from '../kit/text.tsx'
import type { PaymentView } from './answers.ts'
import { CustomerLink, List } from './list.tsx'
import { act, may, money, useLive } from './operator.ts'
import { type PaymentLooked, type PaymentProblems, paymentStages } from './wire.ts'

const columns: readonly Column<PaymentView>[] = [
  { name: 'Started', show: ({ createdAtMs }) => <Time atMs={createdAtMs} /> },
  {
    name: 'Stage',
    show: ({ stage, isStuck, advice, steps }) => (
      <>
        <span class={stage === 'credited' ? 'badge good' : isStuck ? 'badge bad' : 'badge'}>
          {isStuck ? `${stage}, stuck` : stage}
        </span>
        {stage !== 'credited' && <span class="quiet block">{advice}</span>}
        {isStuck && <Steps steps={steps} />}
      </>
    ),
  },
  { name: 'USD', isNumber: true, show: ({ amountUsd }) => (amountUsd === null ? '–' : money(amountUsd)) },
  {
    name: 'Payer',
    show: ({ customer, payer }) =>
      customer === null ? <code>{payer ?? '–'}</code> : <CustomerLink customer={customer} name={payer} />,
  },
  {
    name: 'Transaction',
    show: ({ transaction, network }) => (
      <>
        {transaction === null ? '–' : <Transaction id={transaction} network={network} />}
        {network && <span class="quiet block">{network}</span>}
      </>
    ),
  },
  { name: 'Last change', show: ({ updatedAtMs }) => <Time atMs={updatedAtMs} /> },
]

/** The steps for a stuck payment. */
function Steps({ steps }: Pick<PaymentView, 'steps'>): JSX.Element {
  return (
    <details open={true}>
      <summary>What to do</summary>
      <ol>
        {steps.map(step => (
          <li key={step}>
            <Words text={step} />
          </li>
        ))}
      </ol>
    </details>
  )
}

/** Has the service check one payment now, and shows what it found. */
function LookDialog({ row, done }: { row: PaymentView; done(): void }): JSX.Element {
  const check = async (form: FormData) => {
    const reason = String(form.get('reason') ?? '').trim()
    const order = { payment: row.payment, ...(reason === '' ? {} : { reason }) }
    const { stage, outcome } = (await act('payment.check', order)) as PaymentLooked
    said.value = `The payment is ${stage}. ${outcome}`
  }
  return (
    <DialogForm title="Check this payment again" action="Check now" submit={check} close={done}>
      <p>
        The service asks the chain. If the payment arrived, it is credited; if not, it is sent again as long as its
        signature is valid. No payment is credited twice.
      </p>
      <label>
        Reason <input name="reason" maxLength={500} />
      </label>
    </DialogForm>
  )
}

/** The problems that keep this process from settling payments. */
function Problems(): JSX.Element | null {
  const read = useLive(() => postJson<PaymentProblems>('/api/payment-problems', {}))
  const problems = read.value.value?.problems ?? []
  if (problems.length === 0) return null
  return (
    <div class="refused" role="alert">
      {problems.map(problem => (
        <p key={problem}>
          <Words text={problem} />
        </p>
      ))}
    </div>
  )
}

/** Public explorers of the networks that have one; no link is followed without a click. */
const explorers: Readonly<Record<string, string>> = {
  'eip155:8453': 'https://basescan.org/tx/',
  'eip155:84532': 'https://sepolia.basescan.org/tx/',
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': 'https://solscan.io/tx/',
}

function Transaction({ id, network }: { id: string; network: string | null }): JSX.Element {
  const explorer = network === null ? undefined : explorers[network]
  if (!explorer) return <code>{id}</code>
  return (
    <a href={`${explorer}${encodeURIComponent(id)}`} target="_blank" rel="noreferrer noopener">
      <code>{id}</code>
    </a>
  )
}

/** Top-ups and the stage that each has reached. */
export function PaymentsPage(): JSX.Element {
  const looks = useSignal(0)
  const looked = useSignal<PaymentView | null>(null)
  const row = looked.value
  const action: Column<PaymentView> = {
    name: 'Action',
    show: row =>
      row.isOpen ? (
        <button type="button" aria-label={`Check again: ${row.payment}`} onClick={() => (looked.value = row)}>
          Check again
        </button>
      ) : (
        nothing
      ),
  }
  return (
    <>
      <Problems />
      <p class="controls">
        <Choice label="Stage" name="stage" values={['stuck', ...paymentStages]} />
        <Search label="Payer" name="payer" placeholder="0x… or a Solana address" />
        <Search label="Transaction" name="transaction" />
      </p>
      <List
        name="payments"
        caption="Payments"
        filter={filterOf('stage', 'payer', 'transaction')}
        columns={may('support') ? [...columns, action] : columns}
        keyOf={({ payment }) => payment}
        empty="No payments found."
        version={looks.value}
      />
      {row && (
        <LookDialog
          key={row.payment}
          row={row}
          done={() => {
            looked.value = null
            looks.value++
          }}
        />
      )}
    </>
  )
}
