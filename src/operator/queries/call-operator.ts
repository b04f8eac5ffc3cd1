import type { z } from 'zod'
import { issueSentence } from '#contract/errors/issue-sentence.ts'
import { type OperatorRefused, refuse } from '../operator-refused.ts'
import { actsOf } from './acts.ts'
import {
  changeCustomer,
  createCustomer,
  creditCustomer,
  limitCustomer,
  refundRequest,
  resumeCustomer,
  suspendCustomer,
} from './customer-acts.ts'
import { customer, customers, withId } from './customers.ts'
import { entries } from './entries.ts'
import { jobs, refundJob, request } from './jobs.ts'
import { limits, unblock } from './limits.ts'
import { changeRole, createOperator, operators, removeOperator, resetOperator } from './operator-acts.ts'
import type { OperatorContext } from './operator-context.ts'
import { lookAtPayment, payments } from './payments.ts'
import { overview } from './sums.ts'
import { usage } from './usage.ts'
import {
  type OperatorAnswer,
  type OperatorInput,
  type OperatorOperation,
  type OperatorOrder,
  type OperatorRead,
  operatorOperations,
  operatorReads,
} from './wire.ts'

type Runs = {
  [Name in OperatorOperation]: (
    context: OperatorContext,
    order: OperatorOrder<Name>,
    actor: string,
  ) => Promise<OperatorAnswer<Name>>
}

const runs: Runs = {
  overview,
  customers,
  customer,
  payments,
  jobs,
  entries,
  request,
  limits,
  usage,
  acts: async (context, order) => actsOf(context, await withId(context, order)),
  'customer.create': createCustomer,
  'customer.change': changeCustomer,
  'customer.credit': creditCustomer,
  'customer.refund': refundRequest,
  'customer.suspend': suspendCustomer,
  'customer.resume': resumeCustomer,
  'customer.limit': limitCustomer,
  'job.refund': refundJob,
  'payment.check': lookAtPayment,
  'limit.unblock': unblock,
  operators,
  'operator.create': createOperator,
  'operator.role': changeRole,
  'operator.remove': removeOperator,
  'operator.reset': resetOperator,
}

const isRead = (name: OperatorOperation): name is OperatorRead => Object.hasOwn(operatorReads, name)

export const isOperatorOperation = (name: string): name is OperatorOperation => Object.hasOwn(operatorOperations, name)

/**
 * Runs a query, or an action in the name of `actor`. Throws `OperatorRefused`, also for invalid input, and
 * `NotAnswered`. The console, the admin API and the commands all use it.
 */
export async function callOperator<Name extends OperatorOperation>(
  context: OperatorContext,
  name: Name,
  input: OperatorInput<Name>,
  actor: string,
): Promise<OperatorAnswer<Name>> {
  if (context.beside && isRead(name))
    return context.beside.ask(name, input as never, context.blocks) as Promise<OperatorAnswer<Name>>
  const order = operatorOperations[name].input.safeParse(input)
  if (!order.success) throw wrongInput(order.error.issues)
  return runs[name](context, order.data as OperatorOrder<Name>, actor)
}

/** Names each invalid member and what it accepts. */
const wrongInput = (issues: readonly z.core.$ZodIssue[]): OperatorRefused =>
  refuse(
    `${issues.map(issue => `\`${issue.path.map(String).join('.') || 'input'}\`: ${issueSentence(issue)}`).join('; ')}.`,
  )
