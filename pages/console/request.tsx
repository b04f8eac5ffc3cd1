import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { postJson, refusedOf } from '../kit/api.ts'
import { DialogForm, RefusedNote } from '../kit/dialog.tsx'
import { Waiting } from '../kit/list.tsx'
import { place } from '../kit/router.ts'
import { said } from '../kit/sections.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { CopyText, Time } from '../kit/text.tsx'
import type { Refused } from '../kit/wire.ts'
import type { EntryView, RequestView } from './answers.ts'
import { CustomerLink } from './list.tsx'
import { act, exact, may, milliseconds, money, question, useLive } from './operator.ts'
import { Figure } from './overview.tsx'
import type { Recent, RecentRequest, SignedReceipt } from './wire.ts'

/** Everything that is known about one request: money, model, engine, times, job and receipt. */
export function OneRequestPage(): JSX.Element {
  const id = place.value.query.get('id') ?? ''
  const page = useLive(() => question('request', { request: id }), id)
  const recent = useLive(() => postJson<Recent>('/api/recent', { request: id }), id)
  const shown = page.value.value
  return (
    <>
      <p>
        <a href="/ledger">Ledger</a>
      </p>
      <h2 class="title">
        <code>{id}</code>
      </h2>
      {shown ? (
        <>
          <RefusedNote refused={page.problem.value} />
          <Money of={shown} done={page.refresh} />
        </>
      ) : (
        <Waiting problem={page.problem.value} />
      )}
      <Times recent={recent.value.value} />
      {shown && <Details of={shown} />}
    </>
  )
}

function Money({ of, done }: { of: RequestView; done(): Promise<void> }): JSX.Element {
  const { customer, name, model, hold } = of
  if (customer === null)
    return (
      <p>The ledger has no entries for this request. It failed before anything was held, or no request has this id.</p>
    )
  return (
    <>
      <p>
        <CustomerLink customer={customer} name={name} /> · {model ?? 'no model'}{' '}
        {of.isRefunded && <span class="badge">refunded</span>}
      </p>
      <div class="cards">
        <Figure name="Charged" value={money(of.chargedUsd)} note={`${exact(of.chargedUsd)} USD`} />
        <Figure name="Refunded" value={money(of.refundedUsd)} note={`${exact(of.refundedUsd)} USD`} />
        <Figure
          name="On hold"
          value={money(hold?.heldUsd ?? '0.000000')}
          note={hold ? 'it has not ended' : 'nothing on hold'}
        />
      </div>
      <Acts of={of} customer={customer} done={done} />
    </>
  )
}

interface ActsProps {
  of: RequestView
  customer: string
  done(): Promise<void>
}

function Acts({ of, customer, done }: ActsProps): JSX.Element {
  const isRefunding = useSignal(false)
  const refused = useSignal<Refused | null>(null)
  const receipt = useSignal<SignedReceipt | null>(null)
  const show = async () => {
    refused.value = null
    try {
      receipt.value = await postJson<SignedReceipt>('/api/receipt', { customer, request: of.request })
    } catch (error) {
      refused.value = refusedOf(error)
    }
  }
  const isCharged = of.entries.some(({ kind }) => kind === 'CHARGE')
  return (
    <>
      <p class="controls">
        {isCharged && (
          <button type="button" onClick={show}>
            Show the receipt
          </button>
        )}
        {isCharged && !of.isRefunded && may('support') && (
          <button type="button" onClick={() => (isRefunding.value = true)}>
            Refund
          </button>
        )}
      </p>
      <RefusedNote refused={refused.value} />
      {receipt.value && <Receipt receipt={receipt.value} />}
      {isRefunding.value && (
        <DialogForm
          title={`Refund request ${of.request}`}
          action="Refund"
          close={() => (isRefunding.value = false)}
          submit={async form => {
            const reason = String(form.get('reason') ?? '')
            const answer = (await act('customer.refund', { request: of.request, reason })) as { refundedUsd: string }
            said.value = `${money(answer.refundedUsd)} was returned for request ${of.request}.`
            await done()
          }}
        >
          <p>{money(of.chargedUsd)} will be returned to the customer.</p>
          <label>
            Reason <input name="reason" required maxLength={500} />
          </label>
        </DialogForm>
      )}
    </>
  )
}

/** The receipt's tokens, as the customer gets them. */
function Receipt({ receipt: { charge, refund } }: { receipt: SignedReceipt }): JSX.Element {
  return (
    <section aria-labelledby="receipt-title">
      <h2 id="receipt-title">Receipt</h2>
      <p class="quiet">The signed token that the customer gets; it can be verified with the service’s public keys.</p>
      <CopyText text={charge} what="the receipt of the charge" />
      {refund && <CopyText text={refund} what="the refund’s receipt" />}
    </section>
  )
}

/** The times of the request, as far as the service still has them. */
function Times({ recent }: { recent: Recent | null }): JSX.Element {
  const request = recent?.request ?? null
  return (
    <>
      <h2>Details</h2>
      {request === null ? (
        <p class="quiet">
          A process keeps these details only for its own latest requests, until it restarts. The log has the rest.
        </p>
      ) : (
        <Table
          caption="How the request went"
          columns={wentColumns}
          rows={[request]}
          keyOf={row => row.request}
          empty=""
        />
      )}
    </>
  )
}

const wentColumns: readonly Column<RecentRequest>[] = [
  { name: 'Ended', show: ({ atMs }) => <Time atMs={atMs} /> },
  { name: 'Operation', show: ({ operation }) => operation },
  { name: 'Status', show: ({ status }) => (status === 0 ? 'disconnected' : status) },
  { name: 'Duration', isNumber: true, show: ({ ms }) => milliseconds(ms) },
  { name: 'Model', show: ({ model }) => model ?? '–' },
  { name: 'Engine', show: ({ engine }) => engine ?? '–' },
]

function Details({ of: { entries, job } }: { of: RequestView }): JSX.Element {
  return (
    <>
      <h2>Ledger entries</h2>
      <Table
        caption="Entries for the request"
        columns={entryColumns}
        rows={entries}
        keyOf={({ number }) => `${number}`}
        empty="None."
      />
      {job && (
        <p>
          Job <code>{job.job}</code>: <span class="badge">{job.state}</span>
          {job.failure && <span class="quiet"> {job.failure}</span>}
        </p>
      )}
    </>
  )
}

/** The columns for one request or customer, whose name is in the heading. */
const entryColumns: readonly Column<EntryView>[] = [
  { name: 'Time', show: ({ atMs }) => <Time atMs={atMs} /> },
  { name: 'Kind', show: ({ kind }) => kind },
  { name: 'For', show: ({ sku, reason }) => sku ?? reason ?? '–' },
  { name: 'Units', isNumber: true, show: ({ units }) => units ?? '–' },
  { name: 'USD', isNumber: true, show: ({ amountUsd }) => exact(amountUsd) },
  { name: 'Balance after', isNumber: true, show: ({ balanceAfterUsd }) => exact(balanceAfterUsd) },
]
