import { getBillingUsage } from '#contract/billing.ts'
import {
  contentDisposition,
  paginationLimit,
  paginationPage,
  paginationTotal,
  paginationTotalPages,
} from '#contract/headers.ts'
import { shownUsage, usageCsv, wantsCsv } from '../billing/shown-usage.ts'
import { type UsageFilter, usageCount, usagePage } from '../billing/usage-rows.ts'
import { json, principalOf } from '../call.ts'
import { route } from '../route.ts'

export const getBillingUsageRoute = route(getBillingUsage, async (call, { store }) => {
  const { currency, startDate, endDate, limit, page, sortOrder: order } = call.query
  const filter: UsageFilter = {
    account: principalOf(call).account,
    currency,
    fromMs: timeOf(startDate),
    toMs: timeOf(endDate),
  }
  const total = await usageCount(store, filter)
  const rows = await usagePage(store, filter, { order, limit, offset: (page - 1) * limit })
  const totalPages = Math.ceil(total / limit)
  call.set(paginationLimit, limit)
  call.set(paginationPage, page)
  call.set(paginationTotal, total)
  call.set(paginationTotalPages, totalPages)
  if (wantsCsv(call.header('accept'))) return csvReply(call, usageCsv(rows))
  return json({ data: rows.map(shownUsage), pagination: { limit, page, total, totalPages } })
})

export const timeOf = (moment: string | undefined): number | undefined =>
  moment === undefined ? undefined : Date.parse(moment)

/** A file to keep, as it is published. */
export function csvReply({ set }: Pick<Parameters<Parameters<typeof route>[1]>[0], 'set'>, text: string) {
  set(contentDisposition, 'attachment; filename=billing_usage.csv')
  return { kind: 'bytes' as const, mimeType: 'text/csv; charset=utf-8', bytes: Buffer.from(text) }
}
