import type { JSX } from 'preact'
import { count } from '../kit/format.ts'
import { Waiting } from '../kit/list.tsx'
import { type Column, nothing, Table } from '../kit/table.tsx'
import { Time } from '../kit/text.tsx'
import { useAnswer } from './session.ts'
import type { LimitsView } from './wire.ts'

/** The caller's limits per minute, and its refused requests. */
export function LimitsPage(): JSX.Element {
  const { value, problem } = useAnswer<LimitsView>('limits', {})
  if (!value) return <Waiting problem={problem} />
  return (
    <>
      <p>
        Plan: {value.plan}. Limits count per UTC minute, for all keys of the account together.{' '}
        {value.accessPermitted ? '' : 'The credit is too low for a call: top up first.'}
      </p>
      <Table
        caption="Limits by model"
        columns={limitColumns}
        rows={value.rows}
        keyOf={({ model }) => model}
        empty="The service sells no models."
        first={20}
      />
      <h2>Limits hit recently</h2>
      <p class="quiet">The latest 50 refused requests of the account. A refused request costs nothing.</p>
      <Table
        caption="Limits hit recently"
        columns={hitColumns}
        rows={value.hits.map((hit, index) => ({ ...hit, index }))}
        keyOf={({ index }) => `${index}`}
        empty="No request was refused."
        first={20}
      />
    </>
  )
}

const limitColumns: readonly Column<LimitsView['rows'][number]>[] = [
  { name: 'Model', show: ({ model }) => model },
  {
    name: 'Requests per minute',
    isNumber: true,
    show: ({ requestsPerMinute: most }) => (most === null ? nothing : count(most)),
  },
  {
    name: 'Tokens per minute',
    isNumber: true,
    show: ({ tokensPerMinute: most }) => (most === null ? nothing : count(most)),
  },
]

/** What each type of limit counts. */
const types: Readonly<Record<string, string>> = {
  RPM: 'requests per minute',
  RPD: 'requests per day',
  TPM: 'tokens per minute',
  FAILED_REQUESTS: 'failed requests',
}

const hitColumns: readonly Column<LimitsView['hits'][number] & { index: number }>[] = [
  { name: 'Time', show: ({ atMs }) => <Time atMs={atMs} /> },
  { name: 'Model', show: ({ model }) => model },
  { name: 'Limit', show: ({ type, tier }) => (tier === 'in_flight' ? 'calls at once' : (types[type] ?? type)) },
  { name: 'Key', show: ({ key }) => key ?? 'wallet' },
]
