/** Pages of usage while charges arrive, on any store: the rows of one moment, each once. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseUsd } from '#contract/money.ts'
import { callOperator } from '#operator/queries/call-operator.ts'
import { csvOf } from '#operator/queries/entries.ts'
import type { OperatorContext } from '#operator/queries/operator-context.ts'
import { mostRows, type OperatorInput } from '#operator/queries/wire.ts'
import { account, capture, hold, mustCommit, nowMs, refund, topUp } from '../../ledger/store/sample-ops.ts'
import type { OpenedStore } from '../../ledger/store/store-contract.ts'
import { contextAt } from './context-at.ts'

const dayMs = 86_400_000
const ways = [['customer'], ['model'], ['customer', 'model'], ['day'], ['day', 'customer'], ['day', 'model']] as const

export function usagePagesContract(name: string, open: () => Promise<OpenedStore>): void {
  describe(name, () => {
    let opened: OpenedStore
    let context: OperatorContext
    let now: number
    beforeEach(async () => {
      opened = await open()
      const { store } = opened
      now = nowMs - dayMs
      context = contextAt(store, () => now)
      await mustCommit(store, ...['ada', 'bob', 'cyd', 'dot'].map(each => account(each)))
      for (const each of ['ada', 'bob', 'cyd', 'dot']) await mustCommit(store, topUp(1_000n, each, each))
      await charge('ada', 'a', 30n, 'm')
      now = nowMs
      await charge('bob', 'b', 20n, 'n')
      await charge('cyd', 'c', 10n, 'o')
    })
    afterEach(() => opened.dispose())

    const charge = (of: string, request: string, amount: bigint, model: string) =>
      mustCommit(
        opened.store,
        { ...hold(request, 500n, of), atMs: now } as never,
        { ...capture(request, [amount], request), model, atMs: now } as never,
      )
    const ask = (input: OperatorInput<'usage'>) => callOperator(context, 'usage', input, 'a test')

    /** What another caller does meanwhile: the last row becomes the first, and there are new rows. */
    async function chargesArrive() {
      await charge('cyd', 'later', 100n, 'o')
      await charge('dot', 'new', 40n, 'p')
      await mustCommit(opened.store, { ...refund('a'), atMs: now } as never)
      now += dayMs
      await charge('bob', 'tomorrow', 5n, 'n')
    }

    test.each(ways.map(by => [by.join(), by] as const))('by %s they are those of the first page', async (_, by) => {
      const asked = { by: [...by] }
      const whole = await ask(asked)
      const first = await ask({ ...asked, limit: 1 })
      await chargesArrive()
      const paged = [...first.rows]
      for (let { next } = first; next !== null; ) {
        const page = await ask({ ...asked, limit: 1, after: next })
        expect([page.totals, page.total]).toEqual([whole.totals, whole.total])
        paged.push(...page.rows)
        next = page.next
      }
      expect(paged).toEqual(whole.rows)
      expect((await ask(asked)).totals).toMatchObject({ requests: 6, chargedUsd: '0.000205', refundedUsd: '0.000030' })
    })

    test('a file has each row once, as it was when the file began', async () => {
      const models = Array.from({ length: mostRows }, (_, each) => `model ${each}`)
      for (const model of models) await charge('dot', `of ${model}`, 1n, model)
      const lines: string[] = []
      for await (const piece of csvOf(context, 'usage', { by: ['model'], limit: 50 })) {
        if (lines.length === 0) await chargesArrive()
        lines.push(...piece.trimEnd().split('\r\n'))
      }
      const cells = lines.slice(1).map(line => line.split(','))
      // The credit is no model's.
      expect(cells.map(([model]) => model).toSorted()).toEqual(['', 'm', 'n', 'o', ...models].toSorted())
      expect(cells.reduce((sum, [, , charged]) => sum + (parseUsd(charged ?? '') ?? -1n), 0n)).toBe(260n)
    })

    test('a file of one customer takes what a list takes, such as a name', async () => {
      await callOperator(context, 'customer.change', { customer: 'bob', name: 'Bob & Co' }, 'a test')
      let text = ''
      for await (const piece of csvOf(context, 'usage', { by: ['model'], customer: 'bob & co', limit: 50 }))
        text += piece
      expect(text.split('\r\n').map(line => line.split(',').slice(0, 3).join())).toEqual([
        'model,requests,chargedUsd',
        ...['n,1,0.000020', ',0,0.000000', ''],
      ])
    })

    test('a list into which older entries have come is refused, and says what to do', async () => {
      const { next } = await ask({ by: ['customer'], limit: 1 })
      const [until, ...rest] = (next ?? '').split('.')
      const other = [Number(until) - 1, ...rest].join('.')
      await expect(ask({ by: ['customer'], limit: 1, after: other })).rejects.toThrow(
        'This list changed while it was read. Start again from its beginning.',
      )
    })
  })
}
