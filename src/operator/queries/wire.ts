import { z } from 'zod'
import { planNames } from '#contract/limits.ts'
import { parseUsd } from '#contract/money.ts'
import { dayOfText } from '#contract/time.ts'
import type { OperatorAct } from '#ledger/store/account-ops.ts'
import { entryKinds, operatorRoles, paymentStages } from '#pages/console/wire.ts'
import { operatorName } from '../sign-in/operator-rows.ts'

/**
 * Operators' queries and actions as data: each operation's input and answer. The console, the admin API and the
 * commands share this table. Amounts are decimal USD with six places, times are Unix milliseconds, and days are UTC.
 */

/** The number of rows in one answer, which keeps each short and quick. */
export const mostRows = 200

/** PostgreSQL stores neither; a query with one would fail there instead of finding nothing. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')
const storable = 'text without NUL or unpaired surrogates'

/** A search term. */
const term = z.string().min(1).max(200).refine(isStorable, storable)
const words = z.string().max(500).refine(isStorable, storable)
const reason = z.string().trim().min(1).max(500).refine(isStorable, storable)

/** A name appears in lists and sentences, so it may contain no invisible or direction-changing characters. */
const name = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+$/u, 'text without control characters')
const Usd = z.string()
const AtMs = z.number().int()

/** A UTC day such as 2026-11-01. */
export const Day = z.string().refine(text => dayOfText(text) !== null, 'a day such as 2026-11-01')

/** Days from `from` on and before `to`. */
const range = { from: Day.optional(), to: Day.optional() }

/** The previous page's `next`, which may contain a name. */
const after = z.string().min(1).max(2_000).refine(isStorable, storable)
const page = { limit: z.number().int().min(1).max(mostRows).default(50), after: after.optional() }

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
export type Sums = z.output<typeof Sums>

const named = { customer: z.string(), name: z.string().nullable() }

export const CustomerRow = z.strictObject({
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
export type CustomerRow = z.output<typeof CustomerRow>

const KeyRow = z.strictObject({
  key: z.string(),
  prefix: z.string(),
  label: z.string(),
  role: z.string(),
  state: z.enum(['active', 'expired', 'revoked']),
  createdAtMs: AtMs,
  expiresAtMs: AtMs.nullable(),
  budget: z.strictObject({ period: z.string(), usd: Usd.nullable(), staking: Usd.nullable(), usedUsd: Usd }).nullable(),
})

const ActRow = z.strictObject({
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
export type ActRow = z.output<typeof ActRow>

const PaymentRow = z.strictObject({
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

const JobRow = z.strictObject({
  job: z.string(),
  ...named,
  state: z.enum(['queued', 'running', 'completed', 'failed', 'deleted']),
  model: z.string(),
  request: z.string(),
  chargedUsd: Usd,
  isRefunded: z.boolean(),
  failure: z.string().nullable(),
  createdAtMs: AtMs,
  updatedAtMs: AtMs,
})

const EntryRow = z.strictObject({
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
export type EntryRow = z.output<typeof EntryRow>

const entryFilter = {
  customer: term.optional(),
  kind: z.enum(entryKinds).optional(),
  model: term.optional(),
  request: term.optional(),
  ...range,
}

const LimitRow = z.strictObject({
  ...named,
  type: z.string(),
  model: z.string(),
  tier: z.string(),
  hits: z.number().int(),
  lastAtMs: AtMs,
})

const customer = { customer: term }
const done = z.strictObject({ customer: z.string() })

/** Each query's name, input and answer. Queries change nothing. */
export const operatorReads = {
  overview: {
    input: z.strictObject(range),
    answer: z.strictObject({
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
      byDay: z.array(z.strictObject({ day: Day, ...Sums.shape })),
      /** Those with the highest charges. */
      byModel: z.array(z.strictObject({ model: z.string(), ...Sums.shape })),
      byCustomer: z.array(z.strictObject({ ...named, ...Sums.shape })),
    }),
  },
  usage: {
    input: z.strictObject({
      by: z.array(z.enum(['customer', 'model', 'day'])).max(3),
      ...{ customer: term.optional(), model: term.optional(), ...range, ...page },
    }),
    answer: pageOf(
      z.strictObject({
        ...{ customer: z.string().optional(), name: z.string().nullable().optional() },
        ...{ model: z.string().optional(), day: Day.optional(), ...Sums.shape },
      }),
    ).extend({ totals: Sums }),
  },
  customers: {
    input: z.strictObject({
      /** Part of a name, e-mail, note or id; a complete wallet address or key id; or the beginning of a key. */
      search: words.optional(),
      state: z.enum(['active', 'suspended']).optional(),
      sort: z.enum(['created', 'name', 'balance', 'charged']).default('created'),
      order: z.enum(['up', 'down']).default('down'),
      ...range,
      ...page,
    }),
    answer: pageOf(CustomerRow.extend(Sums.shape)),
  },
  customer: {
    input: z.strictObject({ ...customer, ...range }),
    answer: z.strictObject({
      ...{ customer: CustomerRow, from: Day, to: Day, totals: Sums },
      byDay: z.array(z.strictObject({ day: Day, ...Sums.shape })),
      byModel: z.array(z.strictObject({ model: z.string(), ...Sums.shape })),
      wallets: z.array(z.string()),
      keys: z.array(KeyRow),
      limits: z.array(LimitRow),
      acts: z.array(ActRow),
    }),
  },
  payments: {
    input: z.strictObject({
      /** `stuck`: begun, not ended, and older than an hour. */
      stage: z.enum(['stuck', ...paymentStages]).optional(),
      payer: term.optional(),
      transaction: term.optional(),
      ...page,
    }),
    answer: pageOf(PaymentRow),
  },
  jobs: {
    input: z.strictObject({
      state: z.enum(['queued', 'running', 'completed', 'failed', 'deleted']).optional(),
      ...{ customer: term.optional(), model: term.optional(), request: term.optional(), ...page },
    }),
    answer: pageOf(JobRow),
  },
  entries: { input: z.strictObject({ ...entryFilter, ...page }), answer: pageOf(EntryRow) },
  /** Empty if the ledger has no entry for the request: it failed before its hold, or the id is wrong. */
  request: {
    input: z.strictObject({ request: term }),
    answer: z.strictObject({
      ...{ request: z.string(), customer: z.string().nullable(), name: z.string().nullable() },
      ...{
        model: z.string().nullable(),
        chargedUsd: Usd,
        refundedUsd: Usd,
        writtenOffUsd: Usd,
        isRefunded: z.boolean(),
      },
      /** The current hold for the request. */
      hold: z.strictObject({ heldUsd: Usd, sinceMs: AtMs }).nullable(),
      entries: z.array(EntryRow),
      job: JobRow.nullable(),
    }),
  },
  limits: {
    input: z.strictObject({}),
    answer: z.strictObject({
      /** Callers that hit limits in the last day, most frequent first. */
      hits: z.array(LimitRow),
      /** Callers that are blocked after too many failed requests, at any process that shares blocks with this one. */
      blocks: z.array(z.strictObject({ subject: z.string(), untilMs: AtMs })),
    }),
  },
  operators: {
    input: z.strictObject({}),
    answer: z.strictObject({
      operators: z.array(
        z.strictObject({
          name: z.string(),
          role: z.enum(operatorRoles),
          passkeys: z.number().int(),
          hasPassword: z.boolean(),
          createdAtMs: AtMs,
        }),
      ),
    }),
  },
  acts: {
    input: z.strictObject({
      ...{ actor: term.optional(), act: term.optional(), customer: term.optional(), ...page },
    }),
    answer: pageOf(ActRow),
  },
} as const

const operatorNamed = { operator: z.string().regex(operatorName, 'letters, digits and . _ @ + -, at most 64') }
const sameOperator = z.strictObject({ operator: z.string() })

const isGrant = (text: string): boolean => {
  const amount = parseUsd(text)
  return amount !== null && amount > 0n && amount <= mostGrantMicroUsd
}

/** A larger grant is treated as a typing mistake. */
const mostGrantMicroUsd = 1_000_000_000_000n

/** Becomes part of the entry's reference. */
const CreditId = z.string().regex(/^[\w.:@+-]{1,100}$/, 'at most 100 letters, digits and . _ : @ + -')

const details = { email: words.nullable().optional(), note: words.nullable().optional() }
const why = { reason: reason.optional() }

/** Each action's name, input and answer. Each writes its row of the audit log in its own transaction. */
export const operatorActs = {
  'customer.create': {
    input: z.strictObject({ name, ...details, plan: z.enum(planNames).nullable().optional(), ...why }),
    answer: done,
  },
  'customer.change': {
    input: z.strictObject({ ...customer, name: name.optional(), ...details, ...why }),
    answer: done,
  },
  'customer.credit': {
    input: z.strictObject({
      ...{ ...customer, reason },
      usd: z.string().refine(isGrant, 'an amount of USD such as 5 or 0.25, more than 0 and at most 1000000'),
      /** A repeated id credits only once. */
      id: CreditId.optional(),
    }),
    answer: done.extend({ balanceUsd: Usd, id: CreditId, isRepeated: z.boolean() }),
  },
  'customer.refund': {
    input: z.strictObject({ request: term, reason }),
    answer: done.extend({ refundedUsd: Usd }),
  },
  'customer.suspend': { input: z.strictObject({ ...customer, reason }), answer: done },
  'customer.resume': { input: z.strictObject({ ...customer, ...why }), answer: done },
  'customer.limit': {
    input: z.strictObject({ ...customer, plan: z.enum(planNames).nullable(), ...why }),
    answer: done,
  },
  'job.refund': { input: z.strictObject({ job: term, reason }), answer: done.extend({ refundedUsd: Usd }) },
  'payment.check': {
    input: z.strictObject({ payment: z.string().min(1).max(500).refine(isStorable, storable), ...why }),
    /** The stage after the look, and what it found. */
    answer: z.strictObject({ payment: z.string(), stage: z.enum(paymentStages), outcome: z.string() }),
  },
  'operator.create': {
    input: z.strictObject({ ...operatorNamed, role: z.enum(operatorRoles) }),
    answer: sameOperator,
  },
  'operator.role': { input: z.strictObject({ ...operatorNamed, role: z.enum(operatorRoles) }), answer: sameOperator },
  'operator.remove': { input: z.strictObject({ ...operatorNamed, ...why }), answer: sameOperator },
  'operator.reset': { input: z.strictObject({ ...operatorNamed, ...why }), answer: sameOperator },
  'limit.unblock': {
    input: z.strictObject({ subject: term, reason }),
    answer: z.strictObject({ subject: z.string() }),
  },
} as const satisfies Partial<Record<OperatorAct, { input: z.ZodType; answer: z.ZodType }>>

export const operatorOperations = { ...operatorReads, ...operatorActs }

export type OperatorOperation = keyof typeof operatorOperations
export type OperatorRead = keyof typeof operatorReads
export type OperatorInput<Name extends OperatorOperation> = z.input<(typeof operatorOperations)[Name]['input']>
export type OperatorOrder<Name extends OperatorOperation> = z.output<(typeof operatorOperations)[Name]['input']>
export type OperatorAnswer<Name extends OperatorOperation> = z.output<(typeof operatorOperations)[Name]['answer']>
