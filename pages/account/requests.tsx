import type { ComponentChildren, JSX } from 'preact'
import { saveFile, usd } from '../kit/format.ts'
import { Choice, DayField, filterOf, Waiting } from '../kit/list.tsx'
import { place } from '../kit/router.ts'
import { type Column, nothing, Table } from '../kit/table.tsx'
import { Time } from '../kit/text.tsx'
import { List, RequestLink } from './list.tsx'
import { amountColumn } from './overview.tsx'
import { me, useAnswer } from './session.ts'
import type { RequestRow, RequestView, SpendView } from './wire.ts'

const pageRows = 50

/** Charged requests, newest first. */
export function RequestsPage(): JSX.Element {
  const filter = filterOf('model', 'key', 'from', 'to')
  // The models to choose from: those of the last 90 days.
  const spend = useAnswer<SpendView>('spend', { days: 90 })
  return (
    <>
      <p class="controls">
        <Choice label="Model" name="model" values={(spend.value?.byModel ?? []).map(({ model }) => model)} />
        <DayField label="From (UTC)" name="from" />
        <DayField label="To" name="to" />
        {filter.key && <a href="/account/requests">Show every key</a>}
      </p>
      {!me.value?.seesAccount && <p class="quiet">An INFERENCE key sees only its own requests.</p>}
      <List
        name="requests"
        caption="Requests"
        filter={filter}
        columns={requestColumns}
        keyOf={({ request }: RequestRow) => request}
        empty="No charged requests found."
        pageRows={pageRows}
      />
    </>
  )
}

const requestColumns: readonly Column<RequestRow>[] = [
  { name: 'Time', show: ({ atMs }) => <Time atMs={atMs} /> },
  { name: 'Model', show: ({ model }) => model ?? nothing },
  { name: 'Key', show: ({ key }) => key ?? 'wallet' },
  { name: 'Request', show: ({ request }) => <RequestLink request={request} /> },
  amountColumn('Charged, USD', ({ charged }) => charged),
  {
    name: 'Refunded',
    isNumber: true,
    show: ({ refunded }) => (refunded === '0' ? nothing : usd(refunded)),
  },
]

/** One request: what it cost, and its signed receipt. */
export function RequestPage(): JSX.Element {
  const id = place.value.query.get('id') ?? ''
  const { value, problem } = useAnswer<RequestView>('request', { request: id })
  // After a step back in the history, the former request's answer is still there.
  const request = value?.request === id ? value : null
  return (
    <>
      <p>
        <a href="/account/requests">All requests</a>
      </p>
      {request ? <Details of={request} /> : <Waiting problem={problem} />}
    </>
  )
}

function Details({ of }: { of: RequestView }): JSX.Element {
  return (
    <>
      <dl class="facts">
        <Fact name="Request">
          <code>{of.request}</code>
        </Fact>
        <Fact name="Time">
          <Time atMs={of.atMs} />
        </Fact>
        <Fact name="Model">{of.model ?? nothing}</Fact>
        <Fact name="Key">{of.key ?? 'wallet'}</Fact>
        {of.hold !== null && <Fact name="In flight">{usd(of.hold)} on hold until it ends</Fact>}
        <Fact name="Charged">{usd(of.charged)}</Fact>
        {of.writtenOff !== '0' && <Fact name="Not charged">{usd(of.writtenOff)}, beyond its highest price</Fact>}
        {of.staking !== '0' && <Fact name="Staking credit">{usd(of.staking)}</Fact>}
        {of.refunded !== '0' && (
          <Fact name="Refunded">
            {usd(of.refunded)}
            {of.refundReason && `: ${of.refundReason}`}
          </Fact>
        )}
        <Fact name="Paid in credit">{usd(of.paid)}</Fact>
        {of.job && (
          <Fact name="Job">
            {of.job.state}
            {of.job.failure && `: ${of.job.failure}`}
          </Fact>
        )}
      </dl>
      <h2>Usage</h2>
      <Table
        caption="Lines of the charge"
        columns={lineColumns}
        rows={of.lines}
        keyOf={({ sku }) => sku}
        empty="Nothing has been charged yet."
      />
      <ReceiptSection of={of} />
    </>
  )
}

function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

/** Pico-USD with twelve decimals, without trailing zeros. */
function unitPrice(pico: string): string {
  const digits = pico.padStart(13, '0')
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`.replace(/(\.\d\d\d*?)0+$/, '$1')
}

const lineColumns: readonly Column<RequestView['lines'][number]>[] = [
  { name: 'Product', show: ({ sku }) => sku },
  { name: 'Units', isNumber: true, show: ({ units }) => units },
  { name: 'USD a unit', isNumber: true, show: ({ unitPricePico }) => unitPrice(unitPricePico) },
  amountColumn('USD', ({ amount }) => amount),
]

/** The service's signature over the charge, as proof for others. */
function ReceiptSection({ of: { request, receipt } }: { of: RequestView }): JSX.Element {
  const keys = `${me.value?.publicUrl ?? ''}/api/v1/farebox/receipt_keys`
  return (
    <>
      <h2>Signed receipt</h2>
      {receipt === null ? (
        <p class="quiet">A receipt exists once a request is charged, until the operator archives its month.</p>
      ) : (
        <>
          <p>
            A receipt proves to others what the service charged, and for what. It contains neither the request nor the
            answer.
          </p>
          <p class="controls">
            <SaveReceipt name={`receipt-${request}.jws`} text={receipt.charge} what="Save the receipt" />
            {receipt.refund !== null && (
              <SaveReceipt name={`refund-${request}.jws`} text={receipt.refund} what="Save the refund’s receipt" />
            )}
          </p>
          <details>
            <summary>How to check it</summary>
            <ol>
              <li>
                Fetch the service’s public keys: <a href={keys}>{keys}</a>.
              </li>
              <li>
                Verify the file as a compact JWS (RFC 7515, algorithm EdDSA) with the key that its header names in{' '}
                <code>kid</code>. Any JOSE library does this.
              </li>
              <li>
                Compare its claims: <code>request</code>, <code>amount_micro_usd</code> (1,000,000 is 1 USD) and{' '}
                <code>lines</code>.
              </li>
            </ol>
          </details>
        </>
      )}
    </>
  )
}

const SaveReceipt = ({ name, text, what }: { name: string; text: string; what: string }): JSX.Element => (
  <button type="button" onClick={() => saveFile(name, text, 'application/jose')}>
    {what}
  </button>
)
