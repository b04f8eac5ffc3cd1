/** Odd values in every member of every operation, on any store: an answer of its form or a refusal in words, never a failure. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AbuseBlock } from '#access/limits/abuse-block.ts'
import { parseUsd } from '#contract/money.ts'
import { OperatorRefused } from '#operator/operator-refused.ts'
import { callOperator } from '#operator/queries/call-operator.ts'
import type { OperatorContext } from '#operator/queries/operator-context.ts'
import { type OperatorOperation, operatorOperations } from '#operator/queries/wire.ts'
import { account, capture, hold, job, mustCommit, nowMs, payment, wallet } from '../../ledger/store/sample-ops.ts'
import type { OpenedStore } from '../../ledger/store/store-contract.ts'
import { contextAt } from './context-at.ts'

/** An input that each operation takes, so that one odd member is what is refused. */
const inputs: Record<OperatorOperation, Record<string, unknown>> = {
  overview: { from: '2026-01-01', to: '2027-01-01' },
  usage: {
    ...{ by: ['customer'], customer: 'ada', model: 'm', from: '2026-01-01', to: '2027-01-01', limit: 5 },
    after: '5.0.2027-01-01.0',
  },
  customers: {
    ...{ search: 'a', state: 'active', sort: 'name', order: 'up', from: '2026-01-01', to: '2027-01-01', limit: 5 },
    after: Buffer.from(JSON.stringify(['name', 'ada', 'ada'])).toString('base64url'),
  },
  customer: { customer: 'ada', from: '2026-01-01', to: '2027-01-01' },
  payments: { stage: 'stuck', payer: '0xabc', transaction: 't', limit: 5, after: '5 p' },
  jobs: { state: 'queued', customer: 'ada', model: 'm', request: 'r', limit: 5, after: 'j' },
  entries: {
    ...{ customer: 'ada', kind: 'CHARGE', model: 'm', request: 'r', from: '2026-01-01', to: '2027-01-01', limit: 5 },
    after: '5',
  },
  request: { request: 'r' },
  limits: {},
  operators: {},
  acts: { actor: 'a', act: 'customer.create', customer: 'ada', limit: 5, after: '5' },
  'customer.create': { name: 'Bob', email: 'b@example.com', note: 'n', plan: 'partner', reason: 'r' },
  'customer.change': { customer: 'ada', name: 'Ada', email: 'a@example.com', note: 'n', reason: 'r' },
  'customer.credit': { customer: 'ada', usd: '1', reason: 'r', id: 'i' },
  'customer.refund': { request: 'r', reason: 'r' },
  'customer.suspend': { customer: 'ada', reason: 'r' },
  'customer.resume': { customer: 'ada', reason: 'r' },
  'customer.limit': { customer: 'ada', plan: 'partner', reason: 'r' },
  'operator.create': { operator: 'bob', role: 'support' },
  'operator.role': { operator: 'bob', role: 'read' },
  'operator.remove': { operator: 'bob', reason: 'r' },
  'operator.reset': { operator: 'bob', reason: 'r' },
  'job.refund': { job: 'j', reason: 'r' },
  'limit.unblock': { subject: 'address:192.0.2.1', reason: 'r' },
  'payment.check': { payment: 'p', reason: 'r' },
}

const oddTexts = [
  ...['', ' ', '\t\n', '\u0000', 'a\u0000b', '\ud800', 'a\udc00', '\u202e\u200b', '🦄', 'é', 'x'.repeat(200)],
  ...[
    'x'.repeat(100_000),
    '%',
    '_',
    '\\',
    '%%_\\',
    "' OR '1'='1",
    '"; DROP TABLE entry; --',
    '__proto__',
    'constructor',
  ],
  ...['=cmd', '-1', '+1', '1e3', '0x10', '１', '.5', '5.', '0', '0.0000001', '1000000.000001', 'NaN', 'Infinity'],
  ...['9'.repeat(9), '9'.repeat(15), '9'.repeat(30), '2026-02-30', '0000-01-01', '0001-01-01', '9999-12-31', '-1 x'],
  ...[
    '999999999999999 \u0000',
    '5.0.9999-12-31.9999-12-31.999999999',
    '5.0.0001-01-01.0',
    'null',
    'ada',
    'j',
    'p',
    '0xabc',
  ],
]
const oddValues: readonly unknown[] = [
  ...oddTexts,
  ...[-1, 0, -0, 1, 0.5, 201, 2 ** 53, 1e308, Number.NaN, Number.POSITIVE_INFINITY, true, null, [], ['x'], {}],
  ...[{ $ne: 1 }, { toString: 'x' }, [['day']], ['day', 'day', 'day'], ['__proto__'], 5n],
  JSON.parse('{"__proto__": {"limit": 1}}'),
]

export function oddInputsContract(name: string, open: () => Promise<OpenedStore>): void {
  describe(name, () => {
    let opened: OpenedStore
    let context: OperatorContext
    beforeEach(async () => {
      opened = await open()
      const { store } = opened
      context = { ...contextAt(store, () => nowMs), blocks: new AbuseBlock({ now: () => nowMs }) }
      await mustCommit(store, account('ada'), wallet('0xabc', 'ada'))
      await callOperator(context, 'customer.credit', { customer: 'ada', usd: '1', reason: 'first' }, 'a test')
      await mustCommit(store, hold('r', 50n, 'ada'), capture('r', [30n, 4n], 'r'))
      await mustCommit(store, payment('p', null, 'claimed', 0), job('j', null, 'queued', 0))
    })
    afterEach(() => opened.dispose())

    /** Whether it was answered; a refusal is in words, and anything else fails the test. */
    async function isAnswered(operation: OperatorOperation, input: unknown): Promise<boolean> {
      const said = `${operation} of ${String(JSON.stringify(input, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))).slice(0, 200)}`
      try {
        const answer = await callOperator(context, operation, input as never, 'a test')
        const formed = operatorOperations[operation].answer.safeParse(answer)
        expect([said, formed.error?.issues]).toEqual([said, undefined])
        return true
      } catch (error) {
        if (error instanceof OperatorRefused) {
          expect([said, error.message.length < 2_000]).toEqual([said, true])
          return false
        }
        throw new Error(`${said} failed`, { cause: error })
      }
    }

    test.each(Object.keys(inputs) as OperatorOperation[])(
      'O11: %s answers or refuses every odd value of every member',
      async operation => {
        const usual = inputs[operation]
        for (const member of Object.keys(operatorOperations[operation].input.shape)) {
          for (const value of oddValues) await isAnswered(operation, { ...usual, [member]: value })
          // Alone, so that another filter does not end the query before this one is looked at.
          for (const value of oddTexts) await isAnswered(operation, { [member]: value })
        }
        for (const whole of [null, undefined, [], 'x', 5, [usual], { ...usual, zork: 1 }])
          expect([whole, operation !== 'limits' && (await isAnswered(operation, whole))]).toEqual([whole, false])
      },
      120_000,
    )

    test('O11: a member named __proto__ or constructor is refused, and changes no other object', async () => {
      for (const member of ['__proto__', 'constructor', 'prototype', 'toString']) {
        const input = JSON.parse(`{"customer":"ada","reason":"r","${member}":{"limit":1}}`)
        expect([member, await isAnswered('customer.suspend', input)]).toEqual([member, false])
      }
      expect(({} as { limit?: number }).limit).toBeUndefined()
    })

    test('O11: an amount is taken as it is written, or not at all', async () => {
      let given = 1_000_000n
      for (const usd of [...oddTexts, '0.000001', '1000000', ' 5', '5 ', '1,5', '٥', '1_000', '0005', '1\n']) {
        const before = given
        if (await isAnswered('customer.credit', { customer: 'ada', usd, reason: 'r' })) given += parseUsd(usd) ?? 0n
        expect([usd, given === before || (given > before && /^\d+(\.\d+)?$/.test(usd))]).toEqual([usd, true])
      }
      const { posted } = await opened.store.read
        .selectFrom('account')
        .select('posted')
        .where('id', '=', 'ada')
        .executeTakeFirstOrThrow()
      expect(posted).toBe(given - 34n)
    })

    test('O11: a search takes % _ and \\ as they are', async () => {
      for (const name of ['50% off', 'a_b', 'c\\d']) await isAnswered('customer.create', { name })
      const found = async (search: string) =>
        (await callOperator(context, 'customers', { search }, 'a test')).rows.map(row => row.name)
      expect(await found('%')).toEqual(['50% off'])
      expect(await found('_')).toEqual(['a_b'])
      expect(await found('\\')).toEqual(['c\\d'])
      expect(await found('%%')).toEqual([])
    })

    test('a customer is found by a name with letters beyond ASCII, as it was written and in either case', async () => {
      await isAnswered('customer.create', { name: 'Ärzte Köln' })
      const found = async (search: string) =>
        (await callOperator(context, 'customers', { search }, 'a test')).rows.map(row => row.name)
      for (const search of ['Ärzte Köln', 'Ärzte', 'ärzte', 'ÄRZTE', 'köln', 'KÖLN'])
        expect([search, await found(search)]).toEqual([search, ['Ärzte Köln']])
      const { customer } = await callOperator(context, 'customer', { customer: 'Ärzte Köln' }, 'a test')
      expect(customer.name).toBe('Ärzte Köln')
    })

    test('O11: after all of it the ledger adds up', async () => {
      for (const operation of ['customer.credit', 'customer.refund', 'job.refund'] as const)
        for (const member of Object.keys(operatorOperations[operation].input.shape))
          for (const value of oddValues) await isAnswered(operation, { ...inputs[operation], [member]: value })
      const { read } = opened.store
      const rows = await read.selectFrom('entry').select(['account', 'effect', 'kind']).execute()
      const { posted } = await read
        .selectFrom('account')
        .select('posted')
        .where('id', '=', 'ada')
        .executeTakeFirstOrThrow()
      expect(rows.reduce((sum, { effect }) => sum + effect, 0n)).toBe(posted)
      const of = (kind: string) => rows.reduce((sum, row) => sum + (row.kind === kind ? row.effect : 0n), 0n)
      expect(of('REFUND')).toBe(-of('CHARGE'))
    }, 60_000)
  })
}
