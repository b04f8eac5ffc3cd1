import { getBillingUsageHistory } from '#contract/billing.ts'
import { nextCursor } from '#contract/headers.ts'
import { shownUsage, usageCsv, wantsCsv } from '../billing/shown-usage.ts'
import { cursorOf, readCursor } from '../billing/usage-cursor.ts'
import { usagePage } from '../billing/usage-rows.ts'
import { json, principalOf } from '../call.ts'
import { route } from '../route.ts'
import { csvReply, timeOf } from './get-billing-usage.ts'

export const getBillingUsageHistoryRoute = route(getBillingUsageHistory, async (call, { store }) => {
  const { currency, startTimestamp, endTimestamp, pageSize, cursor } = call.query
  const filter = {
    account: principalOf(call).account,
    currency,
    fromMs: timeOf(startTimestamp),
    toMs: timeOf(endTimestamp),
  }
  const after = cursor === undefined ? null : readCursor(cursor)
  // One more than asked for tells whether there is another page.
  const rows = await usagePage(store, filter, { order: 'desc', limit: pageSize + 1, after })
  const shown = rows.slice(0, pageSize)
  const last = rows.length > pageSize ? shown.at(-1) : undefined
  const next = last ? cursorOf(last) : null
  if (!wantsCsv(call.header('accept'))) return json({ data: shown.map(shownUsage), nextCursor: next })
  if (next !== null) call.set(nextCursor, next)
  return csvReply(call, usageCsv(shown))
})
