import { z } from 'zod'
import { planNames } from '#contract/limits.ts'
import { parseUsd } from '#contract/money.ts'
import { dayOfText } from '#contract/time.ts'
import type { OperatorAct } from '#ledger/store/account-ops.ts'
import { operatorAnswers as answers } from '#pages/console/answers.ts'
import { entryKinds, jobStates, operatorRoles, paymentStages } from '#pages/console/wire.ts'
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

/** A UTC day such as 2026-11-01. */
export const Day = z.string().refine(text => dayOfText(text) !== null, 'a day such as 2026-11-01')

/** Days from `from` on and before `to`. */
const range = { from: Day.optional(), to: Day.optional() }

/** The previous page's `next`, which may contain a name. */
const after = z.string().min(1).max(2_000).refine(isStorable, storable)
const page = { limit: z.number().int().min(1).max(mostRows).default(50), after: after.optional() }

const entryFilter = {
  customer: term.optional(),
  kind: z.enum(entryKinds).optional(),
  model: term.optional(),
  request: term.optional(),
  ...range,
}

const customer = { customer: term }
const done = z.strictObject({ customer: z.string() })

/** Each query's name, input and answer. Queries change nothing. */
export const operatorReads = {
  overview: { input: z.strictObject(range), answer: answers.overview },
  usage: {
    input: z.strictObject({
      by: z.array(z.enum(['customer', 'model', 'day'])).max(3),
      ...{ customer: term.optional(), model: term.optional(), ...range, ...page },
    }),
    answer: answers.usage,
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
    answer: answers.customers,
  },
  customer: { input: z.strictObject({ ...customer, ...range }), answer: answers.customer },
  payments: {
    input: z.strictObject({
      /** `stuck`: begun, not ended, and older than an hour. */
      stage: z.enum(['stuck', ...paymentStages]).optional(),
      ...{ payer: term.optional(), transaction: term.optional(), ...page },
    }),
    answer: answers.payments,
  },
  jobs: {
    input: z.strictObject({
      state: z.enum(jobStates).optional(),
      ...{ customer: term.optional(), model: term.optional(), request: term.optional(), ...page },
    }),
    answer: answers.jobs,
  },
  entries: { input: z.strictObject({ ...entryFilter, ...page }), answer: answers.entries },
  /** Empty if the ledger has no entry for the request: it failed before its hold, or the id is wrong. */
  request: { input: z.strictObject({ request: term }), answer: answers.request },
  limits: { input: z.strictObject({}), answer: answers.limits },
  operators: { input: z.strictObject({}), answer: answers.operators },
  acts: {
    input: z.strictObject({ actor: term.optional(), act: term.optional(), customer: term.optional(), ...page }),
    answer: answers.acts,
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
