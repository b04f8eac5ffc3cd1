import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { Kysely } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NodeSqliteDialect } from '#ledger/store/sqlite/open.ts'
import type { Tables } from '#ledger/store/tables.ts'
import {
  breakdownOf,
  inProportion,
  modelTypeOf,
  UsageAnalyticsService,
} from '#service/capabilities/billing/usage-analytics.ts'
import { usageCount, usagePage } from '#service/capabilities/billing/usage-rows.ts'
import { type OpenedService, openService } from '../open-service.ts'

let opened: OpenedService
beforeAll(async () => {
  opened = await openService()
})
afterAll(() => opened.close())

const dayMs = 24 * 60 * 60 * 1000

test('a look that takes too long is a 504 that says to ask for less, and the next one looks anew', async () => {
  let nowMs = 100 * dayMs
  let lateMs = 9_000
  const fixture = new UsageAnalyticsService({
    store: opened.store,
    catalogue: { models: [] },
    clock: { now: () => (nowMs += lateMs) },
  })
  const days = { lookback: '7d', firstDayMs: 93 * dayMs, lastDayMs: 99 * dayMs }
  await expect(fixture.of('ada', days)).rejects.toMatchObject({
    status: 504,
    body: { error: 'Query timed out - try reducing the lookback period' },
  })
  lateMs = 0
  expect((await fixture.of('ada', days)).byDate).toHaveLength(7)
})

test.each([
  ['chat.input', 'LLM'],
  ['speech.character', 'TTS'],
  ['transcription.second', 'ASR'],
  ['image.generation', 'IMAGE'],
  ['video.second', 'VIDEO'],
  ['embedding.input', null],
])('a model that is gone is told by what it was charged for: %s is %s', (sku, type) => {
  expect(modelTypeOf(undefined, [sku])).toBe(type)
})

test('what is written into a cache is told apart from what is read from it', () => {
  const skus = ['chat.input', 'chat.input.cached', 'chat.input.cache_write', 'chat.output']
  const bySku = new Map(skus.map(sku => [sku, { price: 1n, units: 1n }]))
  const types = breakdownOf({ usd: 4n, diem: 0n, units: 4n, bySku } as never).map(({ type }) => type)
  expect(types).toEqual(['Input', 'Cache Read', 'Cache Write', 'Output'])
})

test('parts in proportion add up to the whole, and none is below zero', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 15n })
  fc.assert(
    fc.property(amount, fc.array(amount, { minLength: 1, maxLength: 9 }), (whole, weights) => {
      const parts = inProportion(whole, weights)
      expect(parts.reduce((sum, part) => sum + part, 0n)).toBe(whole)
      expect(parts.every(part => part >= 0n)).toBe(true)
    }),
  )
})

test.each(['asc', 'desc'] as const)('a page, %s, and its count are read in the order of an index', async order => {
  const statements: string[] = []
  const database = new DatabaseSync(opened.database, { readOnly: true })
  const dialect = new NodeSqliteDialect(() => database)
  const read = new Kysely<Tables>({ dialect, log: ({ query }) => void statements.push(query.sql) })
  const planOf = (statement: string) => {
    const marks = Array.from({ length: statement.match(/\?/g)?.length ?? 0 }, () => 1)
    const steps = database.prepare(`EXPLAIN QUERY PLAN ${statement}`).all(...marks)
    return steps.map(({ detail }) => `${detail}`).join('\n')
  }
  const filter = { account: 'ada', fromMs: 0, toMs: dayMs }
  await usagePage({ read }, filter, { order, limit: 10 })
  await usageCount({ read }, filter)
  const plans = statements.map(planOf)
  expect(plans).toHaveLength(3)
  for (const plan of plans) {
    expect(plan).toMatch(/entry_of_(use|staking) \(account_number=\?/)
    expect(plan).not.toMatch(/SCAN entry|TEMP B-TREE/)
  }
  await read.destroy()
})
