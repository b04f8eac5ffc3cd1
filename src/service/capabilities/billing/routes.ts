import { addressSubject } from '#access/limits/guards.ts'
import { walletMismatch } from '#contract/errors/errors.ts'
import { fieldError } from '#contract/errors/issues.ts'
import { admissionFloorUsd, topUpUsd } from '#contract/limits.ts'
import { toUsdNumber, zeroUsd } from '#contract/money.ts'
import {
  type BillingBalance,
  getBillingBalance,
  getBillingUsage,
  getBillingUsageAnalytics,
  getBillingUsageHistory,
} from '#contract/operations/billing.ts'
import { getReceipt, getReceiptKeys, listReceipts } from '#contract/operations/receipts.ts'
import { getWalletBalance, getWalletTransactions, topUp } from '#contract/operations/wallet.ts'
import { dayMs } from '#contract/time.ts'
import {
  contentDisposition,
  nextCursor,
  paginationLimit,
  paginationPage,
  paginationTotal,
  paginationTotalPages,
  paymentResponse,
} from '#contract/wire/headers.ts'
import { normalizeWallet } from '#contract/wire/networks.ts'
import { balanceOf, entriesOf } from '#ledger/accounts/balances.ts'
import { type Call, json, principalOf, route } from '../../http/route.ts'
import type { DayRange } from '../../http/service.ts'
import { analyticsDays } from './usage-analytics.ts'
import {
  cursorOf,
  readCursor,
  shownUsage,
  type UsageFilter,
  usageCount,
  usageCsv,
  usagePage,
  wantsCsv,
} from './usage-rows.ts'

/**
 * Without a payment, returns the requirements; with one, credits the wallet. A resend gets the same bytes, because
 * serialization is stable.
 */
export const topUpRoute = route(topUp, async (call, service) => {
  const { body, settlement } = await service.payments.topUp({
    header: name => call.header(name),
    address: addressSubject(call.address),
    count: countedFor => call.count(countedFor),
  })
  call.set(paymentResponse, settlement)
  return json(JSON.parse(body))
})

/** A wallet sees only its own records. Returns the normalized address. */
function ownWallet(call: Call, walletAddress: string): string {
  const principal = principalOf(call)
  const wallet = normalizeWallet(walletAddress)
  if (principal.kind !== 'wallet' || principal.wallet !== wallet) throw walletMismatch()
  return wallet
}

export const getWalletBalanceRoute = route(getWalletBalance, async (call, service) => {
  const walletAddress = ownWallet(call, call.params.walletAddress)
  const { usd, staking } = await service.funding.spendable(principalOf(call))
  const balanceUsd = toUsdNumber(usd)
  return json({
    success: true,
    data: {
      walletAddress,
      balanceUsd,
      canConsume: toUsdNumber(usd + (staking ?? zeroUsd)) >= admissionFloorUsd,
      minimumTopUpUsd: topUpUsd.minimum,
      suggestedTopUpUsd: topUpUsd.suggested,
      ...(staking ? { diemBalanceUsd: toUsdNumber(staking) } : {}),
    },
  })
})

export const getWalletTransactionsRoute = route(getWalletTransactions, async (call, service) => {
  const walletAddress = ownWallet(call, call.params.walletAddress)
  const { limit, offset } = call.query
  const { account } = principalOf(call)
  // Reads one more than requested, to know whether there is another page.
  const entries = await entriesOf(service.store, account, limit + 1, offset)
  const balance = await balanceOf(service.store, account)
  return json({
    success: true,
    data: {
      walletAddress,
      currentBalance: toUsdNumber(balance.postedMicroUsd),
      transactions: entries.slice(0, limit).map(entry => ({
        id: entry.id,
        amount: toUsdNumber(entry.amountMicroUsd),
        balanceAfter: toUsdNumber(entry.balanceAfterMicroUsd),
        type: entry.type,
        createdAt: new Date(entry.createdAtMs).toISOString(),
        requestId: entry.requestId,
        modelId: entry.modelId,
      })),
      pagination: { limit, offset, hasMore: entries.length > limit },
    },
  })
})

export const getBillingBalanceRoute = route(getBillingBalance, async (call, { funding }) => {
  const { usd, staking } = await call.spendable()
  const allocation = await funding.stakingToday(principalOf(call))
  const body: BillingBalance = {
    canConsume: usd > 0n || (staking ?? 0n) > 0n,
    consumptionCurrency: (staking ?? 0n) > 0n ? 'DIEM' : usd > 0n ? 'USD' : null,
    balances: { diem: staking === null ? null : toUsdNumber(staking), usd: toUsdNumber(usd) },
    diemEpochAllocation: toUsdNumber(allocation ?? 0n),
  }
  return json(body)
})

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

const timeOf = (moment: string | undefined): number | undefined =>
  moment === undefined ? undefined : Date.parse(moment)

/** Sends a file to download, as published. */
function csvReply({ set }: Pick<Parameters<Parameters<typeof route>[1]>[0], 'set'>, text: string) {
  set(contentDisposition, 'attachment; filename=billing_usage.csv')
  return { kind: 'bytes' as const, mimeType: 'text/csv; charset=utf-8', bytes: Buffer.from(text) }
}

export const getBillingUsageHistoryRoute = route(getBillingUsageHistory, async (call, { store }) => {
  const { currency, startTimestamp, endTimestamp, pageSize, cursor } = call.query
  const filter = {
    account: principalOf(call).account,
    currency,
    fromMs: timeOf(startTimestamp),
    toMs: timeOf(endTimestamp),
  }
  const after = cursor === undefined ? null : readCursor(cursor)
  // Reads one more than requested, to know whether there is another page.
  const rows = await usagePage(store, filter, { order: 'desc', limit: pageSize + 1, after })
  const shown = rows.slice(0, pageSize)
  const last = rows.length > pageSize ? shown.at(-1) : undefined
  const next = last ? cursorOf(last) : null
  if (!wantsCsv(call.header('accept'))) return json({ data: shown.map(shownUsage), nextCursor: next })
  if (next !== null) call.set(nextCursor, next)
  return csvReply(call, usageCsv(shown))
})

export const getBillingUsageAnalyticsRoute = route(getBillingUsageAnalytics, async (call, { usage, clock }) =>
  json(await usage.of(principalOf(call).account, askedDays(call.query, clock.now()))),
)

/** Returns the requested days: the last few including today, or from one date to another. Throws 400. */
function askedDays(
  { lookback, startDate, endDate }: { lookback: string; startDate?: string | undefined; endDate?: string | undefined },
  nowMs: number,
): DayRange {
  if (startDate === undefined && endDate === undefined) {
    const days = Number.parseInt(lookback, 10)
    if (days > analyticsDays) throw wrong('lookback', `At most ${analyticsDays}d`)
    const lastDayMs = nowMs - (nowMs % dayMs)
    return { lookback, firstDayMs: lastDayMs - (days - 1) * dayMs, lastDayMs }
  }
  const firstDayMs = dayOf('startDate', startDate, 'endDate')
  const lastDayMs = dayOf('endDate', endDate, 'startDate')
  if (lastDayMs < firstDayMs) throw wrong('endDate', 'Must not be before startDate')
  if (lastDayMs - firstDayMs >= analyticsDays * dayMs)
    throw wrong('endDate', `At most ${analyticsDays} days after startDate`)
  return { lookback: `${startDate} to ${endDate}`, firstDayMs, lastDayMs }
}

function dayOf(field: string, date: string | undefined, other: string): number {
  if (date === undefined) throw wrong(field, `Field is required with ${other}`)
  const atMs = Date.parse(date)
  if (Number.isNaN(atMs) || !new Date(atMs).toISOString().startsWith(date))
    throw wrong(field, 'Must be a date such as 2026-01-31')
  return atMs
}

const wrong = (field: string, message: string) => fieldError([field], message)

export const getReceiptRoute = route(getReceipt, async (call, service) =>
  json(await service.receipts.of(principalOf(call).account, call.params.request)),
)

export const getReceiptKeysRoute = route(getReceiptKeys, async (_call, service) => json(await service.receipts.keys()))

export const listReceiptsRoute = route(listReceipts, async (call, service) =>
  json(await service.receipts.list(principalOf(call).account, call.query)),
)
