import { dayMs } from '#contract/time.ts'
import { emailOf, payerOf } from './fill-ledger.ts'

/** A question of a page, whose parameters change with each time that it is asked. */
export interface Question {
  page: string
  name: string
  path: string
  input(time: number): object
  /** Each time asks for the page after that of the time before. */
  isPaged?: true
}

const days = 30
const day = (ago: number): string => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10)
/** Leaps, so that neither neighbours nor the same ones follow each other. */
const leap = (time: number, places: number): number => (time * 7_919 + 17) % places

/** All questions of the console's pages, and those of `farebox usage`. */
export function questionsOf(accounts: readonly string[], entries: number): readonly Question[] {
  const customer = (time: number) => accounts[leap(time, accounts.length)] ?? ''
  const place = (time: number) => leap(time, accounts.length)
  const model = (time: number) => `model-${time % 4}`
  const deep = (time: number) => `${Math.max(1, leap(time, entries))}`
  const of = (page: string, name: string, operation: string, input: Question['input'] = () => ({})): Question => ({
    ...{ page, name: `${page}: ${name}`, path: `/api/operator/${operation}`, input },
  })
  const paged = (page: string, name: string, operation: string, input: object): Question => ({
    ...of(page, name, operation, () => input),
    isPaged: true,
  })
  const plain = (page: string, name: string, path: string): Question => ({ page, name, path, input: () => ({}) })
  return [
    of('overview', 'today', 'overview', () => ({ from: day(0) })),
    of('overview', '7 days', 'overview', () => ({ from: day(6) })),
    of('overview', '30 days', 'overview', () => ({ from: day(29) })),
    plain('overview', 'overview: live', '/api/live'),
    paged('customers', 'newest', 'customers', {}),
    paged('customers', 'by name', 'customers', { sort: 'name', order: 'up' }),
    paged('customers', 'by balance', 'customers', { sort: 'balance' }),
    paged('customers', 'by charges', 'customers', { sort: 'charged' }),
    of('customers', 'search', 'customers', time => ({ search: `customer ${place(time)}` })),
    of('customers', 'suspended', 'customers', () => ({ state: 'suspended' })),
    of('customer', 'by id', 'customer', time => ({ customer: customer(time) })),
    of('customer', 'by e-mail', 'customer', time => ({ customer: emailOf(place(time)) })),
    of('ledger', 'newest', 'entries', () => ({})),
    of('ledger', 'a page far back', 'entries', time => ({ after: deep(time) })),
    of('ledger', 'of a customer', 'entries', time => ({ customer: customer(time) })),
    of('ledger', 'of a model', 'entries', time => ({ model: model(time), after: deep(time) })),
    of('ledger', 'of a model that has none', 'entries', time => ({ model: `none-${time}` })),
    of('ledger', 'of a customer and a model', 'entries', time => ({ customer: customer(time), model: model(time) })),
    of('ledger', 'of a rare kind', 'entries', time => ({ kind: time % 2 ? 'REFUND' : 'GRANT' })),
    of('ledger', 'of a kind and a customer', 'entries', time => ({ kind: 'GRANT', customer: customer(time) })),
    of('ledger', 'of a day', 'entries', time => ({ from: day((time % days) + 1), to: day(time % days) })),
    of('ledger', 'of a request', 'entries', time => ({ request: `bench-${leap(time, entries / 2)}` })),
    of('payments', 'newest', 'payments'),
    of('payments', 'stuck', 'payments', () => ({ stage: 'stuck' })),
    of('payments', 'of a payer', 'payments', time => ({ payer: payerOf(place(time)) })),
    of('payments', 'of a transaction', 'payments', time => ({ transaction: `0x${`${time}`.padStart(64, '0')}` })),
    of('jobs', 'newest', 'jobs'),
    of('jobs', 'failed', 'jobs', () => ({ state: 'failed' })),
    of('jobs', 'of a customer', 'jobs', time => ({ customer: customer(time) })),
    of('jobs', 'of a model', 'jobs', time => ({ model: model(time) })),
    plain('models', 'models', '/api/models'),
    of('limits', 'of the last day', 'limits'),
    of('audit log', 'newest', 'acts'),
    of('audit log', 'of a customer', 'acts', time => ({ customer: customer(time) })),
    plain('settings', 'settings', '/api/settings'),
    of('usage', 'by day', 'usage', time => ({ by: ['day'], from: day(days - (time % days)) })),
    of('usage', 'by model', 'usage', time => ({ by: ['model'], from: day(days - (time % days)) })),
    of('usage', 'by customer', 'usage', time => ({ by: ['customer'], from: day(days - (time % days)) })),
    of('usage', 'by customer, model and day', 'usage', time => ({
      ...{ by: ['customer', 'model', 'day'], limit: 200, to: day(time % days) },
    })),
  ]
}
