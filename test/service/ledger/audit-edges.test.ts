/** The limits of a sound ledger: values just within them are no finding, values just beyond them are. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { microUsd } from '#contract/money.ts'
import { audit } from '#ledger/audit/audit.ts'
import { lookOverAccounts } from '#ledger/ledger-watch.ts'
import type { Line } from '#ledger/store/units.ts'
import { account, claim, grant, hold, mustCommit, nowMs } from '../../ledger/store/sample-ops.ts'
import { openTemporaryStore } from '../../ledger/store/sqlite-folder.ts'
import { TestClock } from '../open-service.ts'

let opened: Awaited<ReturnType<typeof openTemporaryStore>>
beforeEach(async () => {
  opened = await openTemporaryStore()
  await mustCommit(opened.store, account('ada'), grant(10n))
})
afterEach(() => opened.dispose())

const findings = async () =>
  (await audit(opened.path, { clock: new TestClock(nowMs) })).findings.map(({ kind, sentence }) => ({ kind, sentence }))

const breach = async () => (await lookOverAccounts(opened.store, '')).breach?.sentence ?? null

describe('an account', () => {
  test('that holds all that it has is sound', async () => {
    await mustCommit(opened.store, hold('h', 10n))
    expect([await findings(), await breach()]).toEqual([[], null])
  })

  const below: [rule: string, amount: number][] = [
    ['holds one more than it has', 11],
    ['holds less than nothing', -1],
  ]
  test.each(below)('that %s is below zero, though its holds say the same', async (_rule, amount) => {
    await mustCommit(opened.store, hold('h', 10n))
    opened.tamper(
      `PRAGMA ignore_check_constraints = 1; UPDATE account SET held = ${amount}; UPDATE hold SET amount = ${amount}`,
    )
    expect(await findings()).toEqual([
      { kind: 'negative_balance', sentence: `Account ada is below zero: posted 10, held ${amount} micro-USD.` },
    ])
    expect(await breach()).toBe('An account is below zero.')
  })
})

describe('charges', () => {
  const halves = (count: number, amounts: readonly bigint[]): Line[] =>
    amounts.map((amount, line) => ({
      sku: `part-${line}`,
      units: BigInt(count),
      unitPricePicoUsd: 500_000n,
      amount: microUsd(amount),
    }))

  test('are rounded up once a request: two requests of half a millionth are one millionth each', async () => {
    for (const request of ['one', 'two']) {
      await mustCommit(opened.store, hold(request, 5n))
      const terms = { op: 'capture', hold: request, request, model: null, atMs: nowMs } as const
      await mustCommit(opened.store, { ...terms, lines: halves(1, [1n]) })
    }
    expect(await findings()).toEqual([])
  })

  test('and not once a line: the second half of one request adds nothing', async () => {
    await mustCommit(opened.store, hold('h', 5n))
    const terms = { op: 'capture', hold: 'h', request: 'r', model: null, atMs: nowMs } as const
    await mustCommit(opened.store, { ...terms, lines: halves(1, [1n, 0n, 1n]) })
    expect(await findings()).toEqual([])
    opened.tamper('DROP TRIGGER entry_is_never_updated; UPDATE entry SET units = 2 WHERE line = 1')
    expect((await findings()).map(({ kind }) => kind)).toEqual([
      'charge_differs_from_price',
      'charge_differs_from_price',
    ])
  })
})

test('a request that belongs to two claims is told with how many they are', async () => {
  await mustCommit(opened.store, claim('a', null, 'running', 0), claim('b', null, 'running', 0))
  expect(await findings()).toEqual([])
  opened.tamper("UPDATE claim SET request = 'the same'")
  expect(await findings()).toEqual([
    { kind: 'claim_differs', sentence: 'Request the same belongs to 2 claims; it may belong to only one.' },
  ])
})
