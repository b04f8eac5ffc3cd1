import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { postJson } from '../kit/api.ts'
import { exactUsd, usd } from '../kit/format.ts'
import { type Live, live } from '../kit/live.ts'
import type { ListPage, OperatorReads } from './wire.ts'

/** Runs one of the operators' queries. */
export const question = <Name extends keyof OperatorReads>(name: Name, input: object): Promise<OperatorReads[Name]> =>
  postJson(`/api/operator/${name}`, input)

/** Runs one of the operators' actions. */
export const act = (name: string, input: object): Promise<unknown> => postJson(`/api/operator/${name}`, input)

/** How often a page is refreshed. */
export const usualMs = 10_000

/** Refreshes a value while its page is open, and at once when `key` changes. */
export function useLive<T>(load: () => Promise<T>, key = '', everyMs = usualMs): Live<T> {
  const current = useRef(load)
  current.current = load
  const read = useMemo(() => live(() => current.current(), everyMs), [])
  const first = useRef(true)
  useEffect(() => {
    if (!first.current) void read.refresh()
    first.current = false
  }, [key])
  useEffect(() => () => read.stop(), [])
  return read
}

type Lists = {
  [Name in keyof OperatorReads as OperatorReads[Name] extends ListPage<unknown> ? Name : never]: OperatorReads[Name]
}
export type ListName = keyof Lists
export type RowOf<Name extends ListName> = Lists[Name]['rows'][number]

/** A list from the server, page by page. A new filter starts at the first page. */
export function useList<Name extends ListName>(name: Name, filter: Readonly<Record<string, string>>, version = 0) {
  /** The cursors of the pages that were visited. */
  const turned = useSignal<readonly string[]>([])
  const key = JSON.stringify(filter)
  const lastKey = useRef(key)
  if (lastKey.current !== key) {
    lastKey.current = key
    turned.value = []
  }
  const after = turned.value.at(-1)
  const list = useLive(
    () => question(name, { ...filter, limit: pageRows, ...(after === undefined ? {} : { after }) }),
    `${key} ${after} ${version}`,
  )
  return { list, turned }
}

export const pageRows = 50

/** Converts `-4.230000` to micro-USD, which the kit formats. */
export const micro = (decimalUsd: string): string => BigInt(decimalUsd.replace('.', '')).toString()

export const money = (decimalUsd: string): string => usd(micro(decimalUsd))

export const exact = (decimalUsd: string): string => exactUsd(micro(decimalUsd))

/** A customer's name, or the beginning of the id if there is none. */
export const titleOf = ({ customer, name }: { customer: string; name: string | null }): string =>
  name ?? (customer.length > 20 ? `${customer.slice(0, 18)}…` : customer)

export const customerPath = (customer: string): string => `/customer?${new URLSearchParams({ id: customer })}`

export const milliseconds = (ms: number | null): string =>
  ms === null ? '–' : ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
