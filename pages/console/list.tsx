import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { postBlob, refusedOf } from '../kit/api.ts'
import { RefusedNote } from '../kit/dialog.tsx'
import { saveBlob } from '../kit/format.ts'
import { type ListLook, PagedTable, useTurned } from '../kit/list.tsx'
import type { ListPage, Refused } from '../kit/wire.ts'
import type { OperatorReads } from './answers.ts'
import { customerPath, question, titleOf, useLive } from './operator.ts'

const pageRows = 50

type Lists = {
  [Name in keyof OperatorReads as OperatorReads[Name] extends ListPage<unknown> ? Name : never]: OperatorReads[Name]
}
export type RowOf<Name extends keyof Lists> = Lists[Name]['rows'][number]

interface ListProps<Name extends keyof Lists> extends ListLook<RowOf<Name>> {
  name: Name
  filter: Readonly<Record<string, string>>
  /** Reads the list again when it changes. */
  version?: number
}

/** A list that the server pages and filters, refreshed while it is open. */
export function List<Name extends keyof Lists>({ name, filter, version = 0, ...look }: ListProps<Name>): JSX.Element {
  const turned = useTurned(filter)
  const after = turned.value.at(-1)
  const list = useLive(
    () => question(name, { ...filter, limit: pageRows, ...(after === undefined ? {} : { after }) }),
    `${JSON.stringify(filter)} ${after} ${version}`,
  )
  const page = list.value.value as ListPage<RowOf<Name>> | null
  return <PagedTable {...look} page={page} problem={list.problem.value} turned={turned} pageRows={pageRows} />
}

/** A request's id, linked to its page. */
export const RequestLink = ({ request, name = request }: { request: string; name?: string }): JSX.Element => (
  <a href={`/request?${new URLSearchParams({ id: request })}`}>
    <code>{name}</code>
  </a>
)

/** A customer's name, linked to their page. */
export function CustomerLink(row: { customer: string; name: string | null }): JSX.Element {
  return (
    <a href={customerPath(row.customer)} title={row.customer}>
      {titleOf(row)}
    </a>
  )
}

/** Saves a whole list, with its filter, as a file. The button and what was refused stand in different places. */
export function useCsv(name: 'entries' | 'usage', filter: object): { button: JSX.Element; refusal: JSX.Element } {
  const refused = useSignal<Refused | null>(null)
  const isBusy = useSignal(false)
  const save = async () => {
    isBusy.value = true
    refused.value = null
    try {
      saveBlob(`${name}.csv`, await postBlob(`/api/operator/${name}.csv`, filter))
    } catch (error) {
      refused.value = refusedOf(error)
    }
    isBusy.value = false
  }
  return {
    button: (
      <button type="button" disabled={isBusy.value} onClick={save}>
        {isBusy.value ? 'Saving…' : 'Save all as CSV'}
      </button>
    ),
    refusal: <RefusedNote refused={refused.value} />,
  }
}
