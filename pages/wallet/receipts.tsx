import { useSignal } from '@preact/signals'
import { Fragment, type JSX } from 'preact'
import { refusedOf } from '../kit/api.ts'
import { Options, RefusedNote } from '../kit/dialog.tsx'
import { count, exactUsd, utcTime } from '../kit/format.ts'
import { type Column, nothing, saveTable, Table } from '../kit/table.tsx'
import type { Refused } from '../kit/wire.ts'
import { readReceipts, type WalletData } from './wallet-data.ts'
import { type ListedReceiptView, type ReceiptFilter, receiptKinds, receiptStates } from './wire.ts'

const columns: readonly Column<ListedReceiptView>[] = [
  { name: 'Time', show: ({ atMs }) => utcTime(atMs), text: ({ atMs }) => new Date(atMs).toISOString() },
  { name: 'Kind', show: ({ kind }) => kind, text: ({ kind }) => kind },
  { name: 'What', show: ({ what, usage }) => <What what={what} usage={usage} />, text: ({ what }) => what },
  { name: 'Model', show: ({ model }) => model ?? nothing, text: ({ model }) => model ?? '' },
  { name: 'Tool', show: ({ tool }) => tool ?? nothing, text: ({ tool }) => tool ?? '' },
  {
    name: 'USD',
    isNumber: true,
    show: ({ amount, kind }) => (amount === null ? 'unknown' : `${kind === 'refund' ? '+' : ''}${exactUsd(amount)}`),
    text: ({ amount }) => (amount === null ? '' : exactUsd(amount)),
  },
  {
    name: 'Check',
    show: ({ state, problem }) => <Check state={state} problem={problem} />,
    text: ({ state }) => state,
  },
  { name: 'Problem', show: () => null, text: ({ problem }) => problem ?? '' },
  {
    name: 'Id',
    show: ({ id, transaction }) => <code class="id">{transaction ?? id}</code>,
    text: ({ id }) => id,
  },
  { name: 'Transaction', show: () => null, text: ({ transaction }) => transaction ?? '' },
  { name: 'Receipt', show: () => null, text: ({ receipt }) => receipt ?? '' },
]

/** The problem is shown with its check; the other columns are only in the file. */
const inTable = columns.filter(({ name }) => !['Problem', 'Transaction', 'Receipt'].includes(name))

function What({ what, usage }: { what: string; usage: string }): JSX.Element {
  return (
    <>
      {what}
      {usage && <span class="quiet block">{usage}</span>}
    </>
  )
}

/** Explains each state for users who have not read the documentation. */
const meanings: Readonly<Record<string, string>> = {
  verified: 'signed by a known key, and matches the call',
  differs: 'signed by a known key, but does not match the call',
  unverified: 'not signed by a known key',
  unchecked: 'the service’s keys have not been fetched yet',
  unsigned: 'the service sent no receipt',
  confirmed: 'credited by the service',
  unknown: 'no answer yet',
  dead: 'did not take place, or was abandoned',
}

const bad = ['differs', 'unverified', 'unknown']

function Check({ state, problem }: { state: string; problem: string | null }): JSX.Element {
  return (
    <>
      <span
        class={
          bad.includes(state) ? 'badge bad' : state === 'verified' || state === 'confirmed' ? 'badge good' : 'badge'
        }
        title={meanings[state]}
      >
        {state}
      </span>
      {problem && <span class="quiet block">{problem}</span>}
    </>
  )
}

export function Receipts({ data }: { data: WalletData }): JSX.Element {
  const list = data.receipts.value.value
  const refused = useSignal<Refused | null>(null)
  const choose = (filter: ReceiptFilter & { from?: number }) => {
    data.filter.value = { ...data.filter.value, from: 0, ...filter }
    void data.receipts.refresh()
  }
  const saveAll = async () => {
    refused.value = null
    try {
      saveTable('receipts.csv', columns, await allReceipts(data.filter.value))
    } catch (error) {
      refused.value = refusedOf(error)
    }
  }
  return (
    <section id="receipts" aria-labelledby="receipts-title">
      <h2 id="receipts-title">Receipts</h2>
      <p class="controls">
        <Choice label="Kind" values={receiptKinds} choose={kind => choose({ kind })} />
        <Choice label="Check" values={receiptStates} choose={state => choose({ state })} />
        <label>
          Contains{' '}
          <input
            type="search"
            placeholder="model, tool, id"
            onInput={event => choose({ text: event.currentTarget.value })}
          />
        </label>
        <button type="button" onClick={saveAll}>
          Save as CSV
        </button>
      </p>
      <RefusedNote refused={refused.value ?? data.receipts.problem.value} />
      {list ? (
        <>
          <Table
            caption="Payments and charges"
            columns={inTable}
            rows={list.rows}
            keyOf={({ service, id }) => `${service} ${id}`}
            empty="No receipts."
          />
          <Pages
            from={list.from}
            shown={list.rows.length}
            total={list.total}
            pageRows={list.pageRows}
            turn={from => choose({ from })}
          />
        </>
      ) : (
        <p class="quiet">Loading the receipts…</p>
      )}
      <details>
        <summary>What the checks mean</summary>
        <dl class="facts">
          {Object.entries(meanings).map(([state, meaning]) => (
            <Fragment key={state}>
              <dt>{state}</dt>
              <dd>{meaning}</dd>
            </Fragment>
          ))}
        </dl>
      </details>
    </section>
  )
}

/** The most rows that the server returns at once, for a file. */
const rowsAtOnce = 1_000

/** All matching rows, page by page. */
async function allReceipts(filter: ReceiptFilter): Promise<ListedReceiptView[]> {
  const rows: ListedReceiptView[] = []
  for (;;) {
    const list = await readReceipts({ ...filter, from: rows.length }, rowsAtOnce)
    rows.push(...list.rows)
    if (list.rows.length === 0 || rows.length >= list.total) return rows
  }
}

interface ChoiceProps {
  label: string
  values: readonly string[]
  choose(value: string): void
}

function Choice({ label, values, choose }: ChoiceProps): JSX.Element {
  return (
    <label>
      {label}{' '}
      <select onChange={event => choose(event.currentTarget.value)}>
        <option value="">all</option>
        <Options of={values} />
      </select>
    </label>
  )
}

interface PagesProps {
  from: number
  shown: number
  total: number
  pageRows: number
  turn(from: number): void
}

function Pages({ from, shown, total, pageRows, turn }: PagesProps): JSX.Element | null {
  if (total === 0) return null
  return (
    <nav class="controls" aria-label="Pages of receipts">
      <button type="button" disabled={from === 0} onClick={() => turn(Math.max(0, from - pageRows))}>
        Newer
      </button>
      <span role="status">
        {count(from + 1)}–{count(from + shown)} of {count(total)}
      </span>
      <button type="button" disabled={from + shown >= total} onClick={() => turn(from + pageRows)}>
        Older
      </button>
    </nav>
  )
}
