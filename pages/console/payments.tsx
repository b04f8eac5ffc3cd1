import type { JSX } from 'preact'
import type { Column } from '../kit/table.tsx'
import { Choice, CustomerLink, filterOf, List, Search, Time } from './list.tsx'
import { money } from './operator.ts'
import { type PaymentView, paymentStages } from './wire.ts'

const columns: readonly Column<PaymentView>[] = [
  { name: 'Begun', show: ({ createdAtMs }) => <Time atMs={createdAtMs} /> },
  {
    name: 'Stage',
    show: ({ stage, isStuck, advice }) => (
      <>
        <span class={stage === 'credited' ? 'badge good' : isStuck ? 'badge bad' : 'badge'}>
          {isStuck ? `${stage}, stuck` : stage}
        </span>
        {stage !== 'credited' && <span class="quiet block">{advice}</span>}
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
  return (
    <>
      <p class="controls">
        <Choice label="Stage" name="stage" values={['stuck', ...paymentStages]} />
        <Search label="Payer" name="payer" placeholder="0x… or a Solana address" />
        <Search label="Transaction" name="transaction" />
      </p>
      <List
        name="payments"
        caption="Payments"
        filter={filterOf('stage', 'payer', 'transaction')}
        columns={columns}
        keyOf={({ payment }) => payment}
        empty="No payments found."
      />
    </>
  )
}
