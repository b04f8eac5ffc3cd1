/** Pages of customers while others come, go and change, on any store: each row that stays is listed once. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { callOperator } from '#operator/queries/call-operator.ts'
import type { OperatorContext } from '#operator/queries/operator-context.ts'
import type { OperatorInput } from '#operator/queries/wire.ts'
import { capture, hold, mustCommit, nowMs } from '../../ledger/store/sample-ops.ts'
import type { OpenedStore } from '../../ledger/store/store-contract.ts'
import { contextAt } from './context-at.ts'

const sorts = ['created', 'name', 'balance', 'charged'] as const
const orders = ['up', 'down'] as const

export function customerPagesContract(name: string, open: () => Promise<OpenedStore>): void {
  describe(name, () => {
    let opened: OpenedStore
    let context: OperatorContext
    let now: number
    beforeEach(async () => {
      opened = await open()
      now = nowMs
      context = contextAt(opened.store, () => now)
      // Some share their place, and one name has letters that the shell or the database treats in its own way.
      for (const [of, usd, charged] of [
        ['Bob', '1', 0n],
        ['ada', '2', 20n],
        ['ada', '2', 20n],
        ["Él 'O' ☃", '3', 0n],
        ['cyd', '0.5', 300n],
      ] as const)
        await customer(of, usd, charged)
    })
    afterEach(() => opened.dispose())

    async function customer(of: string, usd: string, charged: bigint): Promise<string> {
      now += 10
      const made = await callOperator(context, 'customer.create', { name: of }, 'a test')
      await callOperator(context, 'customer.credit', { customer: made.customer, usd, reason: 'r' }, 'a test')
      if (charged > 0n)
        await mustCommit(
          opened.store,
          { ...hold(made.customer, charged, made.customer), atMs: now } as never,
          { ...capture(made.customer, [charged], made.customer), atMs: now } as never,
        )
      return made.customer
    }
    const ask = (input: OperatorInput<'customers'>) => callOperator(context, 'customers', input, 'a test')

    /** The ids of all pages; something may happen after the first. */
    async function paged(input: OperatorInput<'customers'>, meanwhile = async () => {}): Promise<string[]> {
      const ids: string[] = []
      let after: string | null = null
      do {
        const page = await ask({ ...input, limit: 2, ...(after === null ? {} : { after }) })
        ids.push(...page.rows.map(row => row.customer))
        if (after === null) await meanwhile()
        after = page.next
      } while (after !== null)
      return ids
    }

    const ways = sorts.flatMap(sort => orders.map(order => ({ sort, order })))

    test.each(ways)('pages are those of the whole list, by $sort, $order', async input => {
      const whole = await ask(input)
      expect(await paged(input)).toEqual(whole.rows.map(row => row.customer))
      expect(whole.total).toBe(5)
    })

    test.each(ways)('new customers neither repeat nor skip one that was there, by $sort, $order', async input => {
      const whole = (await ask(input)).rows.map(row => row.customer)
      const seen = await paged(input, async () => {
        // One before all others, and one after them.
        await customer('AAA', '0.1', 0n)
        await customer('zzz', '100', 4_000n)
      })
      expect(seen.filter(id => whole.includes(id))).toEqual(whole)
    })

    test.each(ways)('one that no longer matches skips no other, by $sort, $order', async input => {
      const active = { ...input, state: 'active' } as const
      const whole = (await ask(active)).rows.map(row => row.customer)
      const gone = whole[0] ?? ''
      const suspend = () => callOperator(context, 'customer.suspend', { customer: gone, reason: 'r' }, 'a test')
      expect(await paged(active, async () => void (await suspend()))).toEqual(whole)
    })

    test.each([
      ['nonsense', 'zork'],
      ['a number of rows', '2'],
      ['a place of another order', Buffer.from('["name","ada","a"]').toString('base64url')],
      ['a place that is no number', Buffer.from('["created","ada","a"]').toString('base64url')],
      ['a number that no ledger has', Buffer.from(`["created","${'9'.repeat(19)}","a"]`).toString('base64url')],
      ['text that no ledger has', Buffer.from('["created","1","a\\u0000"]').toString('base64url')],
    ])('%s is no place of a list', async (_what, after) => {
      await expect(ask({ sort: 'created', after })).rejects.toThrow('`next` value of this list, sorted by `created`')
    })
  })
}
