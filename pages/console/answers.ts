/**
 * The answers of `POST /api/operator/NAME`, which the console, the admin API and the commands share. Amounts are decimal
 * USD with six places, times are Unix milliseconds, and days are UTC. The page imports only the types.
 */

import { z } from 'zod'
import { entryKinds, jobStates, operatorRoles, paymentStages, planNames } from './wire.ts'

const Usd = z.string()
const AtMs = z.number().int()
const Day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/, 'a day such as 2026-11-01')
const named = { customer: z.string(), name: z.string().nullable() }

const pageOf = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({
    rows: z.array(row),
    /** The number of rows on all pages; null if counting takes too long. */
    total: z.number().int().nullable(),
    /** Null on the last page. */
    next: z.string().nullable(),
  })

/**
 * Sums of entries over some days. `revenueUsd` is what customers paid: the charges less the four amounts that follow
 * it.
 */
export const Sums = z.strictObject({
  requests: z.number().int(),
  chargedUsd: Usd,
  refundedUsd: Usd,
  writtenOffUsd: Usd,
  /** The amount paid with staking credit, less what was refunded to it. */
  stakingUsd: Usd,
  revenueUsd: Usd,
  toppedUpUsd: Usd,
  grantedUsd: Usd,
})

const DaySums = z.strictObject({ day: Day, ...Sums.shape })
const ModelSums = z.strictObject({ model: z.string(), ...Sums.shape })

const CustomerView = z.strictObject({
  ...named,
  kind: z.enum(['wallet', 'customer']),
  email: z.string().nullable(),
  note: z.string().nullable(),
  /** Null for the plan of the configuration. */
  plan: z.enum(planNames).nullable(),
  state: z.enum(['active', 'suspended']),
  suspendedAtMs: AtMs.nullable(),
  suspendedReason: z.string().nullable(),
  createdAtMs: AtMs,
  balanceUsd: Usd,
  heldUsd: Usd,
  availableUsd: Usd,
})

const KeyView = z.strictObject({
  key: z.string(),
  prefix: z.string(),
  label: z.string(),
  role: z.string(),
  state: z.enum(['active', 'expired', 'revoked']),
  createdAtMs: AtMs,
  expiresAtMs: AtMs.nullable(),
  budget: z.strictObject({ period: z.string(), usd: Usd.nullable(), staking: Usd.nullable(), usedUsd: Usd }).nullable(),
})

const ActView = z.strictObject({
  number: z.number().int(),
  atMs: AtMs,
  actor: z.string(),
  act: z.string(),
  customer: z.string().nullable(),
  name: z.string().nullable(),
  subject: z.string().nullable(),
  reason: z.string().nullable(),
  before: z.unknown(),
  after: z.unknown(),
})

const PaymentView = z.strictObject({
  payment: z.string(),
  stage: z.enum(paymentStages),
  /** Whether the payment has not ended. */
  isOpen: z.boolean(),
  isStuck: z.boolean(),
  /** The meaning of the stage. */
  advice: z.string(),
  /** What to do if the payment is stuck, in this order; empty otherwise. */
  steps: z.array(z.string()),
  network: z.string().nullable(),
  payer: z.string().nullable(),
  customer: z.string().nullable(),
  amountUsd: Usd.nullable(),
  transaction: z.string().nullable(),
  createdAtMs: AtMs,
  updatedAtMs: AtMs,
})

const JobView = z.strictObject({
  job: z.string(),
  ...named,
  state: z.enum(jobStates),
  model: z.string(),
  request: z.string(),
  chargedUsd: Usd,
  isRefunded: z.boolean(),
  failure: z.string().nullable(),
  createdAtMs: AtMs,
  updatedAtMs: AtMs,
})

const EntryView = z.strictObject({
  number: z.number().int(),
  atMs: AtMs,
  ...named,
  kind: z.enum(entryKinds),
  amountUsd: Usd,
  balanceAfterUsd: Usd,
  request: z.string().nullable(),
  model: z.string().nullable(),
  sku: z.string().nullable(),
  units: z.string().nullable(),
  key: z.string().nullable(),
  reason: z.string().nullable(),
  ref: z.string(),
})

const LimitView = z.strictObject({
  ...named,
  type: z.string(),
  model: z.string(),
  tier: z.string(),
  hits: z.number().int(),
  lastAtMs: AtMs,
})

const OperatorView = z.strictObject({
  name: z.string(),
  role: z.enum(operatorRoles),
  passkeys: z.number().int(),
  hasPassword: z.boolean(),
  createdAtMs: AtMs,
})

/** The answer of each query. */
export const operatorAnswers = {
  overview: z.strictObject({
    ...{ from: Day, to: Day, totals: Sums },
    balances: z.strictObject({
      customers: z.number().int(),
      suspended: z.number().int(),
      balanceUsd: Usd,
      heldUsd: Usd,
    }),
    atRisk: z.strictObject({
      openHolds: z.number().int(),
      openJobs: z.number().int(),
      stuckPayments: z.number().int(),
      stuckPaymentsUsd: Usd,
    }),
    ledger: z.strictObject({ state: z.enum(['open', 'read_only']), reason: z.string() }),
    byDay: z.array(DaySums),
    /** Those with the highest charges. */
    byModel: z.array(ModelSums),
    byCustomer: z.array(z.strictObject({ ...named, ...Sums.shape })),
  }),
  /** Sums of one day, model or customer, or of several of them together. */
  usage: pageOf(
    z.strictObject({
      ...{ customer: z.string().optional(), name: z.string().nullable().optional() },
      ...{ model: z.string().optional(), day: Day.optional(), ...Sums.shape },
    }),
  ).extend({ totals: Sums }),
  customers: pageOf(CustomerView.extend(Sums.shape)),
  customer: z.strictObject({
    ...{ customer: CustomerView, from: Day, to: Day, totals: Sums },
    byDay: z.array(DaySums),
    byModel: z.array(ModelSums),
    wallets: z.array(z.string()),
    keys: z.array(KeyView),
    limits: z.array(LimitView),
    acts: z.array(ActView),
  }),
  payments: pageOf(PaymentView),
  jobs: pageOf(JobView),
  entries: pageOf(EntryView),
  request: z.strictObject({
    ...{ request: z.string(), customer: z.string().nullable(), name: z.string().nullable() },
    model: z.string().nullable(),
    chargedUsd: Usd,
    refundedUsd: Usd,
    writtenOffUsd: Usd,
    isRefunded: z.boolean(),
    /** The current hold for the request. */
    hold: z.strictObject({ heldUsd: Usd, sinceMs: AtMs }).nullable(),
    entries: z.array(EntryView),
    job: JobView.nullable(),
  }),
  limits: z.strictObject({
    /** Callers that hit limits in the last day, most frequent first. */
    hits: z.array(LimitView),
    /** Callers that are blocked after too many failed requests, at any process that shares blocks with this one. */
    blocks: z.array(z.strictObject({ subject: z.string(), untilMs: AtMs })),
  }),
  operators: z.strictObject({ operators: z.array(OperatorView) }),
  acts: pageOf(ActView),
}

export type OperatorReads = { [Name in keyof typeof operatorAnswers]: z.output<(typeof operatorAnswers)[Name]> }

export type Sums = z.output<typeof Sums>
export type DaySums = z.output<typeof DaySums>
export type ModelSums = z.output<typeof ModelSums>
export type Overview = OperatorReads['overview']
export type UsageView = OperatorReads['usage']['rows'][number]
export type CustomerView = z.output<typeof CustomerView>
export type CustomerPage = OperatorReads['customer']
export type KeyView = z.output<typeof KeyView>
export type ActView = z.output<typeof ActView>
export type PaymentView = z.output<typeof PaymentView>
export type JobView = z.output<typeof JobView>
export type EntryView = z.output<typeof EntryView>
export type RequestView = OperatorReads['request']
export type LimitView = z.output<typeof LimitView>
