import { z } from 'zod'
import { StandardError } from '../errors/failures.ts'
import { paging } from '../limits.ts'
import { answerListOf, answerRecordOf } from '../schemas.ts'
import {
  contentDisposition,
  nextCursor,
  paginationLimit,
  paginationPage,
  paginationTotal,
  paginationTotalPages,
} from '../wire/headers.ts'
import { adminFailures } from './keys.ts'
import { defineOperation } from './operation.ts'

/** An account's balance and use, for its ADMIN keys (published contract §10). */

/** Our service charges only in USD and in DIEM, its staking credit; the others are older names. */
const currencies = ['USD', 'VCU', 'DIEM', 'BUNDLED_CREDITS'] as const

const Currency = z.enum(currencies)

const shared = { tag: 'Billing', auth: ['apiKey'], adminKey: true, charge: 'free', limit: 'read' } as const
const csv = 'text/csv'

export const BillingBalance = z
  .strictObject({
    canConsume: z.boolean(),
    /** The currency that pays for the next call; null if there is no credit. */
    consumptionCurrency: Currency.nullable(),
    balances: z.strictObject({ diem: z.number().nullable(), usd: z.number().nullable() }),
    diemEpochAllocation: z.number(),
  })
  .meta({ id: 'BillingBalance' })
export type BillingBalance = z.output<typeof BillingBalance>

export const getBillingBalance = defineOperation({
  id: 'getBillingBalance',
  method: 'GET',
  path: '/billing/balance',
  summary: 'The account’s credit, and what pays for its next call',
  ...shared,
  request: {},
  answer: { json: BillingBalance },
  failures: adminFailures,
})

/** One row of the ledger: positive if the account was charged, negative if it got something back. */
export const UsageRow = z
  .strictObject({
    timestamp: z.string(),
    sku: z.string(),
    units: z.number(),
    pricePerUnitUsd: z.number(),
    amount: z.number(),
    currency: Currency,
    notes: z.string(),
    inferenceDetails: z
      .strictObject({
        requestId: z.string().nullable(),
        promptTokens: z.number().nullable(),
        completionTokens: z.number().nullable(),
        /** Milliseconds; the ledger does not store it. */
        inferenceExecutionTime: z.number().nullable(),
      })
      .nullable(),
  })
  .meta({ id: 'UsageRow' })
export type UsageRow = z.output<typeof UsageRow>

const Moment = z.iso.datetime({ offset: true })

const Pagination = z.strictObject({ limit: z.number(), page: z.number(), total: z.number(), totalPages: z.number() })

/** No one reads further pages, and the number must stay exact. */
const lastPage = 1_000_000_000

export const getBillingUsage = defineOperation({
  id: 'getBillingUsage',
  method: 'GET',
  path: '/billing/usage',
  summary: 'Charges of the account, by page, as JSON or CSV',
  ...shared,
  request: {
    query: z.object({
      currency: Currency.optional(),
      startDate: Moment.optional(),
      endDate: Moment.optional(),
      limit: z.coerce.number().int().min(1).max(paging.usage.maximum).default(paging.usage.default),
      page: z.coerce.number().int().min(1).max(lastPage).default(1),
      sortOrder: z.enum(['asc', 'desc']).default('desc'),
    }),
    headers: ['accept'],
  },
  answer: {
    json: z
      .strictObject({ warningMessage: z.string().optional(), data: answerListOf(UsageRow), pagination: Pagination })
      .meta({ id: 'BillingUsage' }),
    bytes: [csv],
    headers: [paginationLimit, paginationPage, paginationTotal, paginationTotalPages, contentDisposition].map(
      ({ name }) => name,
    ),
  },
  failures: adminFailures,
})

const { minimum, maximum, default: usual } = paging.usageHistory

export const getBillingUsageHistory = defineOperation({
  id: 'getBillingUsageHistory',
  method: 'GET',
  path: '/billing/usage-history',
  summary: 'Charges of the account, newest first, by cursor, as JSON or CSV',
  ...shared,
  request: {
    query: z.object({
      currency: Currency.optional(),
      startTimestamp: Moment.optional(),
      endTimestamp: Moment.optional(),
      pageSize: z.coerce.number().int().min(minimum).max(maximum).default(usual),
      cursor: z.string().max(100).optional(),
    }),
    headers: ['accept'],
  },
  answer: {
    json: z
      .strictObject({ data: answerListOf(UsageRow), nextCursor: z.string().nullable() })
      .meta({ id: 'BillingUsageHistory' }),
    bytes: [csv],
    headers: [nextCursor, contentDisposition].map(({ name }) => name),
  },
  failures: adminFailures,
})

const Day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/)

/** Amounts per day of a chart by name, besides `date`: the first millisecond of that day, Unix time. */
const DailyChart = answerListOf(answerRecordOf(z.number()))

const Totals = { totalUsd: z.number(), totalDiem: z.number(), totalUnits: z.number() }

export const UsageAnalytics = z
  .strictObject({
    /** `7d`, or `2026-01-01 to 2026-01-31`. */
    lookback: z.string(),
    byDate: answerListOf(z.strictObject({ date: z.string(), USD: z.number(), DIEM: z.number() })),
    byModel: answerListOf(
      z.strictObject({
        modelName: z.string(),
        unitType: z.string(),
        modelType: z.string().nullable(),
        ...Totals,
        breakdown: answerListOf(
          z.strictObject({ type: z.string(), usd: z.number(), diem: z.number(), units: z.number() }),
        ).optional(),
      }),
    ),
    byModelDaily: DailyChart,
    topModels: answerListOf(z.string()),
    byKey: answerListOf(z.strictObject({ apiKeyId: z.string().nullable(), description: z.string(), ...Totals })),
    byKeyDaily: DailyChart,
    topKeyNames: answerListOf(z.string()),
  })
  .meta({ id: 'UsageAnalytics' })
export type UsageAnalytics = z.output<typeof UsageAnalytics>

export const getBillingUsageAnalytics = defineOperation({
  id: 'getBillingUsageAnalytics',
  method: 'GET',
  path: '/billing/usage-analytics',
  summary: 'Charges of the account by day, model and key; cached for ten minutes',
  ...shared,
  request: {
    query: z.object({
      lookback: z
        .string()
        .regex(/^[1-9]\d{0,3}d$/)
        .default('7d'),
      startDate: Day.optional(),
      endDate: Day.optional(),
    }),
  },
  answer: { json: UsageAnalytics },
  failures: { ...adminFailures, 504: StandardError },
})
