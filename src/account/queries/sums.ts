import { paidOf, type SumRow } from '#ledger/accounts/day-sums.ts'
import type { Store } from '#ledger/store/store.ts'
import type { Sums } from '#pages/account/wire.ts'

export type Reading = Pick<Store, 'read'>

/** What a session may see: a whole account, or the requests of one key. It comes from the session, never from a request. */
export interface Scope {
  account: string
  /** Null for the whole account. */
  key: string | null
}

export const shownSums = (row: SumRow): Sums => ({
  requests: row.requests,
  ...{ charged: `${row.charged_usd}`, refunded: `${row.refunded_usd}`, writtenOff: `${row.written_off_usd}` },
  ...{ staking: `${row.staking_usd}`, paid: `${paidOf(row)}` },
  ...{ toppedUp: `${row.topped_up_usd}`, granted: `${row.granted_usd}` },
})
