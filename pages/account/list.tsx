import type { JSX } from 'preact'
import { type ListLook, PagedTable, useTurned } from '../kit/list.tsx'
import type { ListPage } from '../kit/wire.ts'
import { useAnswer } from './session.ts'

interface ListProps<Row> extends ListLook<Row> {
  /** The operation that returns a page. */
  name: string
  filter: Readonly<Record<string, string>>
  /** Rows of a full page. */
  pageRows: number
  /** Changes when the rows have changed, so that they are read again. */
  version?: number
}

/** A list that the server pages and filters. */
export function List<Row>({ name, filter, pageRows, version = 0, ...look }: ListProps<Row>): JSX.Element {
  const turned = useTurned(filter)
  const after = turned.value.at(-1)
  const question = after === undefined ? filter : { ...filter, after }
  const { value, problem } = useAnswer<ListPage<Row>>(name, question, version)
  return <PagedTable {...look} page={value} problem={problem} turned={turned} pageRows={pageRows} />
}

/** A request's id, which leads to its details. */
export const RequestLink = ({ request }: { request: string }): JSX.Element => (
  <a href={`/account/request?${new URLSearchParams({ id: request })}`}>
    <code>{request}</code>
  </a>
)
