/** What operators see and do, on any store: the same figures as the ledger's, and a row of the log for each act. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AbuseBlock } from '#access/limits/abuse-block.ts'
import { parseUsd } from '#contract/money.ts'
import type { Clock } from '#contract/time.ts'
import { callOperator } from '#operator/queries/call-operator.ts'
import { csvOf } from '#operator/queries/entries.ts'
import type { OperatorContext } from '#operator/queries/operator-context.ts'
import type { OperatorQueries } from '#operator/queries/operator-queries.ts'
import type { OperatorAnswer, OperatorInput, OperatorOperation } from '#operator/queries/wire.ts'
import { operatorOperations } from '#operator/queries/wire.ts'
import { Sums } from '#pages/console/answers.ts'
import {
  account,
  capture,
  hold,
  job,
  key,
  mustCommit,
  nowMs,
  payment,
  refund,
  topUp,
  wallet,
} from '../../ledger/store/sample-ops.ts'
import type { OpenedStore } from '../../ledger/store/store-contract.ts'
import { contextAt } from './context-at.ts'

const dayMs = 86_400_000
async function collected(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

const usd = (text: string): bigint => parseUsd(text) ?? -1n

/** A store, and what answers queries beside its process; none if they are answered here. */
interface Opened extends OpenedStore {
  beside?: (clock: Clock) => OperatorQueries
}

export function operatorContract(name: string, open: () => Promise<Opened>): void {
  describe(name, () => {
    let opened: Opened
    let beside: OperatorQueries | undefined
    let context: OperatorContext
    let block: AbuseBlock
    let now: number
    beforeEach(async () => {
      opened = await open()
      now = nowMs
      const clock = { now: () => now }
      block = new AbuseBlock(clock)
      beside = opened.beside?.(clock)
      context = { ...contextAt(opened.store, clock.now), blocks: block, ...(beside ? { beside } : {}) }
    })
    afterEach(async () => {
      await beside?.close()
      await opened.dispose()
    })

    /** Every answer has the form that the interface promises. */
    const ask = async <Name extends OperatorOperation>(
      operation: Name,
      input: OperatorInput<Name>,
    ): Promise<OperatorAnswer<Name>> => {
      const answer = await callOperator(context, operation, input, 'a test')
      return operatorOperations[operation].answer.parse(answer) as OperatorAnswer<Name>
    }
    const made = async (of: string) => (await ask('customer.create', { name: of })).customer
    const credit = (customer: string, amount: string) =>
      ask('customer.credit', { customer, usd: amount, reason: 'a test' })
    const charge = (customer: string, request: string, amounts: bigint[], model = 'm') =>
      mustCommit(
        opened.store,
        { ...hold(request, 1_000n, customer), atMs: now } as never,
        { ...capture(request, amounts, request), model, atMs: now } as never,
      )
    const acts = async () => (await ask('acts', {})).rows

    test('a customer is made with a name, without credit or key, and changed; the log says what was there before', async () => {
      const { customer } = await ask('customer.create', {
        name: 'Ada',
        email: 'ada@example.com',
        reason: 'asked by mail',
      })
      await ask('customer.change', { customer: 'ada', name: 'Ada & Co', note: 'pays late' })
      const page = await ask('customer', { customer: 'ADA@example.com' })
      expect(page.customer).toMatchObject({
        ...{ customer, name: 'Ada & Co', email: 'ada@example.com', note: 'pays late', plan: null, state: 'active' },
        balanceUsd: '0.000000',
      })
      expect(page.keys).toEqual([])
      expect(await acts()).toMatchObject([
        {
          ...{ actor: 'a test', act: 'customer.change', customer, name: 'Ada & Co' },
          before: { name: 'Ada', note: null },
          after: { name: 'Ada & Co', note: 'pays late' },
        },
        { act: 'customer.create', reason: 'asked by mail', before: null },
      ])
    })

    test('what changes nothing leaves no row', async () => {
      await made('Ada')
      await ask('customer.change', { customer: 'Ada', name: 'Ada' })
      expect(await acts()).toHaveLength(1)
    })

    test('credit with one id is given once, and its id cannot be used for another', async () => {
      const ada = await made('Ada')
      const order = { customer: 'Ada', usd: '2.5', reason: 'refund of an invoice', id: 'one' }
      const given = { customer: ada, balanceUsd: '2.500000', id: 'one' }
      expect(await ask('customer.credit', order)).toEqual({ ...given, isRepeated: false })
      expect(await ask('customer.credit', order)).toEqual({ ...given, isRepeated: true })
      await expect(ask('customer.credit', { ...order, usd: '3' })).rejects.toThrow('another credit')
      expect((await acts()).map(({ act }) => act)).toEqual(['customer.credit', 'customer.create'])
      expect(await opened.store.read.selectFrom('api_key').selectAll().execute()).toEqual([])
    })

    test('an ambiguous name is refused with the ids, and so is an unknown name', async () => {
      const [one, other] = [await made('Ada'), await made('ada')]
      await expect(ask('customer', { customer: 'ADA' })).rejects.toThrow(one)
      await expect(ask('customer', { customer: 'ADA' })).rejects.toThrow(other)
      await expect(ask('customer', { customer: 'nobody' })).rejects.toThrow('no customer')
      expect((await ask('customer', { customer: other })).customer.name).toBe('ada')
    })

    test('a suspended customer says since when and why, and is resumed once', async () => {
      const ada = await made('Ada')
      await ask('customer.suspend', { customer: ada, reason: 'stolen card' })
      const [row] = (await ask('customers', { state: 'suspended' })).rows
      expect(row).toMatchObject({ customer: ada, suspendedAtMs: nowMs, suspendedReason: 'stolen card' })
      await ask('customer.resume', { customer: ada })
      await expect(ask('customer.resume', { customer: ada })).rejects.toThrow('not suspended')
      expect((await acts()).map(({ act }) => act)).toEqual(['customer.resume', 'customer.suspend', 'customer.create'])
    })

    test('a plan of its own replaces the configured one until it is taken away', async () => {
      const ada = await made('Ada')
      await ask('customer.limit', { customer: ada, plan: 'partner' })
      expect((await ask('customer', { customer: ada })).customer.plan).toBe('partner')
      await ask('customer.limit', { customer: ada, plan: null })
      expect((await ask('customer', { customer: ada })).customer.plan).toBeNull()
    })

    test('a request is refunded once; an act that is refused leaves neither money nor row', async () => {
      const ada = await made('Ada')
      await credit(ada, '1')
      await charge(ada, 'r', [30n, 4n])
      expect(await ask('customer.refund', { request: 'r', reason: 'it failed' })).toEqual({
        ...{ customer: ada, refundedUsd: '0.000034' },
      })
      await expect(ask('customer.refund', { request: 'r', reason: 'again' })).rejects.toThrow('already refunded')
      await expect(ask('customer.refund', { request: 'zork', reason: 'it failed' })).rejects.toThrow(
        'nothing to refund',
      )
      const sum = { request: 'archived:2026-09:3.0', reason: 'it failed' }
      await expect(ask('customer.refund', sum)).rejects.toThrow('compacted')
      expect((await acts()).filter(({ act }) => act === 'customer.refund')).toHaveLength(1)
      expect((await ask('customer', { customer: ada })).customer.balanceUsd).toBe('1.000000')
    })

    test('what an input lacks is named', async () => {
      await expect(ask('customer.suspend', { customer: 'a', reason: ' ' })).rejects.toThrow('reason')
      await expect(ask('customer.credit', { customer: 'a', usd: '-1', reason: 'x' })).rejects.toThrow('usd')
      await expect(ask('entries', { from: '2026-13-01' })).rejects.toThrow('from')
      await expect(ask('usage', { by: ['day'], from: '2026-02-02', to: '2026-02-02' })).rejects.toThrow('not before')
    })

    describe('with use of two customers on two days', () => {
      let [ada, bob] = ['', '']
      beforeEach(async () => {
        ;[ada, bob] = [await made('Ada'), await made('=Bob')]
        await credit(ada, '1')
        await credit(bob, '1')
        await charge(ada, 'first', [10n, 20n])
        await charge(bob, 'second', [5n], 'n')
        now += dayMs
        await charge(ada, 'third', [7n], 'n')
        await mustCommit(
          opened.store,
          { ...topUp(900n, 'p', bob), atMs: now } as never,
          { ...refund('first'), atMs: now } as never,
        )
      })
      const ofDay = (place: number) => new Date(nowMs + place * dayMs).toISOString().slice(0, 10)

      test('usage by each way of grouping adds up to the same totals, which are those of the entries', async () => {
        const ways = [[], ['day'], ['model'], ['customer'], ['customer', 'model', 'day']] as const
        const totals = await Promise.all(ways.map(by => ask('usage', { by: [...by] })))
        for (const each of totals) {
          expect(each.totals).toEqual(totals[0]?.totals)
          for (const column of ['chargedUsd', 'refundedUsd', 'revenueUsd', 'toppedUpUsd', 'grantedUsd'] as const) {
            const sum = each.rows.reduce((all, row) => all + usd(row[column]), 0n)
            expect(sum).toBe(usd(each.totals[column]))
          }
        }
        const rows = await opened.store.read.selectFrom('entry').select(['kind', 'effect']).execute()
        const of = (...kinds: string[]) =>
          rows.reduce((sum, row) => sum + (kinds.includes(row.kind) ? row.effect : 0n), 0n)
        const { requests, chargedUsd, refundedUsd, revenueUsd, toppedUpUsd } = Sums.parse(totals[0]?.totals)
        expect([requests, usd(chargedUsd), usd(refundedUsd)]).toEqual([3, -of('CHARGE'), of('REFUND')])
        expect(usd(revenueUsd)).toBe(-of('CHARGE', 'REFUND'))
        expect(usd(toppedUpUsd)).toBe(of('TOP_UP'))
      })

      test('days are UTC, the newest first, and a filter keeps to its days, model and customer', async () => {
        const { rows } = await ask('usage', { by: ['day', 'customer'] })
        expect(rows.map(({ day, name: of, chargedUsd }) => [day, of, chargedUsd])).toEqual([
          [ofDay(1), 'Ada', '0.000007'],
          [ofDay(1), '=Bob', '0.000000'],
          [ofDay(0), 'Ada', '0.000030'],
          [ofDay(0), '=Bob', '0.000005'],
        ])
        const one = await ask('usage', { by: ['model'], customer: 'Ada', from: ofDay(1), to: ofDay(2) })
        expect(one.rows.map(({ model, chargedUsd }) => [model, chargedUsd])).toEqual([
          ['n', '0.000007'],
          ['m', '0.000000'],
        ])
        expect((await ask('usage', { by: ['day'], model: 'm' })).totals.chargedUsd).toBe('0.000030')
      })

      test.each([[['day', 'customer']], [['customer']], [['model']], [['day', 'model', 'customer']]] as const)(
        'pages of usage by %s are the rows of one answer',
        async by => {
          const whole = await ask('usage', { by: [...by] })
          const paged = []
          for (let after: string | null | undefined; after !== null; ) {
            const page = await ask('usage', { by: [...by], limit: 1, ...(after === undefined ? {} : { after }) })
            paged.push(...page.rows)
            after = page.next
          }
          expect(paged).toEqual(whole.rows)
          expect(whole.total).toBe(by.length > 1 ? null : whole.rows.length)
          await expect(ask('usage', { by: [...by], after: 'zork' })).rejects.toThrow('`next`')
        },
      )

      test('the overview has each day of its range, the most expensive customers and models, and all balances', async () => {
        const seen = await ask('overview', { from: ofDay(-1), to: ofDay(2) })
        expect(seen.byDay.map(({ day, requests }) => [day, requests])).toEqual([
          [ofDay(-1), 0],
          [ofDay(0), 2],
          [ofDay(1), 1],
        ])
        expect(seen.byCustomer.map(({ name: of }) => of)).toEqual(['Ada', '=Bob'])
        expect(seen.byModel.map(({ model }) => model)).toEqual(['m', 'n'])
        expect(seen.balances).toMatchObject({ customers: 2, suspended: 0, balanceUsd: '2.000888' })
        expect(seen.ledger.state).toBe('open')
      })

      test('customers are sorted, searched and paged, with what each spent', async () => {
        const sorted = async (sort: 'name' | 'balance' | 'charged' | 'created', order: 'up' | 'down' = 'down') =>
          (await ask('customers', { sort, order })).rows.map(({ name: of }) => of)
        expect(await sorted('charged')).toEqual(['Ada', '=Bob'])
        expect(await sorted('balance')).toEqual(['=Bob', 'Ada'])
        expect(await sorted('name', 'up')).toEqual(['=Bob', 'Ada'])
        const first = await ask('customers', { sort: 'charged', limit: 1 })
        expect(first).toMatchObject({
          total: 2,
          rows: [{ chargedUsd: '0.000037', refundedUsd: '0.000030', requests: 2 }],
        })
        const second = await ask('customers', { sort: 'charged', limit: 1, after: first.next ?? '' })
        expect(second).toMatchObject({ next: null, rows: [{ name: '=Bob', toppedUpUsd: '0.000900' }] })
        const found = async (search: string) => (await ask('customers', { search })).rows.map(({ name: of }) => of)
        // Ids are hexadecimal, so none has these letters by chance.
        expect(await found('BO')).toEqual(['=Bob'])
        expect(await found('%')).toEqual([])
        await mustCommit(opened.store, wallet('0xabc', bob), key('k', undefined, ada))
        expect(await found('0xABC')).toEqual(['=Bob'])
        expect(await found('k')).toEqual(['Ada'])
        expect((await ask('customer', { customer: 'k' })).keys).toMatchObject([{ key: 'k', state: 'active' }])
      })

      test('entries are filtered and paged, and their number is that of all pages', async () => {
        const all = await ask('entries', { limit: 3 })
        const rest = await ask('entries', { limit: 200, after: all.next ?? '' })
        expect(all.total).toBe(all.rows.length + rest.rows.length)
        expect(rest.next).toBeNull()
        const numbers = [...all.rows, ...rest.rows].map(({ number }) => number)
        expect(numbers).toEqual(numbers.toSorted((one, other) => other - one))
        const refs = async (filter: OperatorInput<'entries'>) => {
          const { rows, total } = await ask('entries', filter)
          if (total !== null) expect(total).toBe(rows.length)
          return rows.map(({ ref }) => ref.replace(/^grant:.*/, 'grant'))
        }
        expect(await refs({ kind: 'REFUND' })).toEqual(['refund:first'])
        expect(await refs({ customer: '=Bob', kind: 'CHARGE' })).toEqual(['charge:second'])
        expect(await refs({ model: 'n' })).toEqual(['charge:third', 'charge:second'])
        expect(await refs({ from: ofDay(1) })).toEqual(['refund:first', 'topup:p', 'charge:third'])
        expect(await refs({ to: ofDay(1), kind: 'GRANT' })).toEqual(['grant', 'grant'])
        expect(await refs({ request: 'first' })).toEqual(['refund:first', 'charge:first', 'charge:first'])
      })

      test('CSV has every row once, and no name is a formula', async () => {
        const lines = async (text: AsyncGenerator<string>) => (await collected(text)).trimEnd().split('\r\n')
        const rows = await lines(csvOf(context, 'entries', { limit: 1 }))
        expect(rows[0]).toMatch(/^number,time,customer,name,kind,amountUsd,/)
        expect(rows).toHaveLength(1 + ((await ask('entries', {})).total ?? 0))
        expect(rows.join()).toContain("'=Bob")
        const used = await lines(csvOf(context, 'usage', { by: ['customer', 'day'], limit: 1 }))
        expect(used[0]).toBe(
          'customer,name,day,requests,chargedUsd,refundedUsd,writtenOffUsd,stakingUsd,revenueUsd,toppedUpUsd,grantedUsd',
        )
        expect(used).toHaveLength(5)
        expect(used[1]).toMatch(/,Ada,.*,1,0\.000007,0\.000030,0\.000000,0\.000000,-0\.000023,/)
      })
    })

    test('a payment that has not ended for an hour is stuck, and says what to do', async () => {
      await mustCommit(opened.store, payment('p', null, 'claimed', 0), payment('p', 'claimed', 'settling', 1))
      expect((await ask('payments', { stage: 'stuck' })).rows).toEqual([])
      now += 3_600_001
      const [row] = (await ask('payments', { stage: 'stuck' })).rows
      expect(row).toMatchObject({ payment: 'p', stage: 'settling', isOpen: true, isStuck: true })
      expect(row?.steps.join(' ')).toMatch(/Check again now.*by hand.*--chain/)
      expect((await ask('overview', {})).atRisk.stuckPayments).toBe(1)
      expect((await ask('payments', { stage: 'credited' })).total).toBe(0)
    })

    test('a look at a payment is in the log before it begins, and its outcome says what to do', async () => {
      await mustCommit(opened.store, payment('p', null, 'claimed', 0), payment('p', 'claimed', 'settling', 1))
      await expect(ask('payment.check', { payment: 'p' })).rejects.toThrow('accepts no payments')
      expect(await acts()).toEqual([])
      const logged: string[] = []
      const lookAgain = async (key: string) => {
        logged.push(...(await acts()).map(({ act, subject }) => `${act} ${subject}`))
        return { found: 'open' as const, problem: `No gas for ${key}.` }
      }
      context = { ...context, payments: { lookAgain } }
      const found = await ask('payment.check', { payment: 'p', reason: 'Ada asked' })
      expect(found).toMatchObject({ payment: 'p', stage: 'settling' })
      expect(found.outcome).toMatch(/does not show it.*No gas for p\.$/)
      expect(logged).toEqual(['payment.check p'])
      expect(await acts()).toMatchObject([{ reason: 'Ada asked', before: { stage: 'settling' } }])
      await expect(ask('payment.check', { payment: 'q' })).rejects.toThrow('no such payment')
      await mustCommit(opened.store, payment('p', 'settling', 'expired', 2))
      await expect(ask('payment.check', { payment: 'p' })).rejects.toThrow('has ended')
      expect(await acts()).toHaveLength(1)
    })

    test('a job that is refunded before its end is failed in the same unit; one that ended stays as it is', async () => {
      const ada = await made('Ada')
      await credit(ada, '1')
      for (const each of ['i', 'j']) {
        await charge(ada, `request of ${each}`, [9n])
        const made = job(each, null, 'queued', 0) as never as { set: object }
        await mustCommit(opened.store, {
          ...made,
          set: { ...made.set, account: ada, request: `request of ${each}` },
        } as never)
      }
      await mustCommit(opened.store, job('i', 'queued', 'running', 1), job('i', 'running', 'completed', 2))
      for (const each of ['i', 'j'])
        expect(await ask('job.refund', { job: each, reason: 'a test' })).toMatchObject({ refundedUsd: '0.000009' })
      const { rows } = await ask('jobs', { customer: 'Ada' })
      expect(rows.map(({ job: id, state, isRefunded }) => [id, state, isRefunded])).toEqual([
        ['j', 'failed', true],
        ['i', 'completed', true],
      ])
      await expect(ask('job.refund', { job: 'i', reason: 'a test' })).rejects.toThrow('already refunded')
    })

    test('a blocked caller may call again once an operator lifts the block', async () => {
      for (let failed = 0; failed <= 20; failed++) block.count('address:192.0.2.1')
      expect((await ask('limits', {})).blocks).toEqual([{ subject: 'address:192.0.2.1', untilMs: nowMs + 30_000 }])
      await ask('limit.unblock', { subject: 'address:192.0.2.1', reason: 'a mistake of ours' })
      block.check('address:192.0.2.1')
      expect((await ask('limits', {})).blocks).toEqual([])
      expect(await acts()).toMatchObject([{ act: 'limit.unblock', subject: 'address:192.0.2.1' }])
    })

    test('callers that hit a limit in the last day are counted by type and model', async () => {
      const ada = await made('Ada')
      const hit = { op: 'limit', account: ada, key: null, model: 'm', tier: 'S', type: 'RPM', atMs: now } as const
      await mustCommit(opened.store, hit, hit, { ...hit, model: 'n' }, { ...hit, atMs: now - 2 * dayMs })
      expect((await ask('limits', {})).hits.map(({ name: of, model, hits }) => [of, model, hits])).toEqual([
        ['Ada', 'm', 2],
        ['Ada', 'n', 1],
      ])
    })

    test('an account of a service without customers is one too', async () => {
      await mustCommit(opened.store, account('ada'))
      expect((await ask('customers', {})).rows).toMatchObject([{ customer: 'ada', name: null, state: 'active' }])
    })
  })
}
