import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { postJson } from '../kit/api.ts'
import { exactUsd, usd } from '../kit/format.ts'
import { type Live, live } from '../kit/live.ts'
import type { OperatorReads } from './answers.ts'
import { type Me, type OperatorRole, operatorRoles } from './wire.ts'

/** Runs one of the operators' queries. */
export const question = <Name extends keyof OperatorReads>(name: Name, input: object): Promise<OperatorReads[Name]> =>
  postJson(`/api/operator/${name}`, input)

/** Runs one of the operators' actions. */
export const act = (name: string, input: object): Promise<unknown> => postJson(`/api/operator/${name}`, input)

/** How often a page is refreshed. */
const usualMs = 10_000

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

/** Who is signed in, as last reported by the server. */
export const me = signal<Me | null>(null)

/** Whether the operator has this role. The server checks it again. */
export const may = (role: OperatorRole): boolean =>
  me.value !== null && operatorRoles.indexOf(me.value.role) >= operatorRoles.indexOf(role)
