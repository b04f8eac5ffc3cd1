import { getBillingUsageAnalytics } from '#contract/billing.ts'
import { askedDays } from '../billing/asked-days.ts'
import { json, principalOf } from '../call.ts'
import { route } from '../route.ts'

export const getBillingUsageAnalyticsRoute = route(getBillingUsageAnalytics, async (call, { usage, clock }) =>
  json(await usage.of(principalOf(call).account, askedDays(call.query, clock.now()))),
)
