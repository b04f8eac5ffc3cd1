import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { spendingOf } from '#agent/receipts/listed-receipts.ts'
import { type KeptCharge, type ReceiptRow, ReceiptRows } from '#agent/receipts/receipt-rows.ts'
import { microUsd } from '#contract/money.ts'
import { dayMs, minuteMs } from '#contract/time.ts'
import { SigningKey } from '#ledger/charges/receipts.ts'
import type { ReceiptList, Spending } from '#pages/wallet/wire.ts'
import { openAgent } from './open-agent.ts'
import { openedWalletPage, visit } from './opened-wallet-page.ts'
import { pretendService } from './pretend-service.ts'

const nowMs = Date.UTC(2026, 10, 23, 0, 0, 30)
const service = 'https://service.example/api/v1'

const charge = (id: string, amount: bigint | null, change: Partial<KeptCharge> = {}): KeptCharge => ({
  ...{ service, id: `charge:${id}`, kind: 'charge', atMs: nowMs, state: 'verified', stakingMicroUsd: microUsd(0) },
  ...{ amountMicroUsd: amount === null ? null : microUsd(amount), what: null, model: 'm', tool: 'chat', usage: [] },
  ...{ problem: null, receipt: null },
  ...change,
})

const none = { charges: false, payments: false }
const spending = (charges: readonly KeptCharge[], days = 7, isCut = none): Spending =>
  spendingOf(charges, [], { days, nowMs }, isCut)

describe('spending', () => {
  test('has a row for each UTC day, the oldest first', () => {
    const { byDay } = spending([charge('a', 3n), charge('b', 4n, { atMs: nowMs - minuteMs })], 7)
    expect(byDay.map(({ day }) => day)).toEqual([
      ...['2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20', '2026-11-21', '2026-11-22', '2026-11-23'],
    ])
    expect(byDay.slice(-2).map(({ spent }) => spent)).toEqual(['4', '3'])
  })

  test('leaves out what is older than its days, and counts to the micro-USD beyond what a float holds', () => {
    const huge = 9_007_199_254_740_993n
    const { total } = spending([charge('a', huge), charge('b', 1n), charge('c', 5n, { atMs: nowMs - 8 * dayMs })])
    expect(total).toBe(`${huge + 1n}`)
  })

  test('takes a refund from the model and the tool of its charge, on its own day', () => {
    const refund = charge('a', 40n, { kind: 'refund', id: 'refund:a', model: null, tool: null })
    const bought = charge('a', 100n, { atMs: nowMs - dayMs, model: 'video', tool: 'video_create' })
    const { byTool, byModel, byDay, total, charges } = spending([refund, bought])
    expect([byTool, byModel]).toEqual([
      [{ name: 'video_create', spent: '60', charges: 1 }],
      [{ name: 'video', spent: '60', charges: 1 }],
    ])
    expect([byDay.slice(-2).map(({ spent }) => spent), total, charges]).toEqual([['100', '-40'], '60', 1])
  })

  test('says how many charges have no known amount, and sums none of them', () => {
    expect(spending([charge('a', null), charge('b', 7n)])).toMatchObject({ total: '7', charges: 2, unknown: 1 })
  })

  test('says that it is partial where older rows of its days were left out', () => {
    const isCut = { charges: true, payments: false }
    expect(spending([charge('a', 1n)], 7, isCut).isPartial).toBe(true)
    expect(spending([charge('a', 1n), charge('b', 1n, { atMs: nowMs - 30 * dayMs })], 7, isCut).isPartial).toBe(false)
  })
})

describe('the page', () => {
  const key = new SigningKey('a secret of a test')
  let agent: Awaited<ReturnType<typeof openAgent>>
  let browser: Awaited<ReturnType<typeof visit>>
  beforeEach(async () => {
    const { baseUrl, close } = await pretendService()
    agent = await openAgent({ baseUrl })
    const opened = await openedWalletPage(agent.dataFolder, baseUrl)
    onTestFinished(close)
    onTestFinished(agent.close)
    onTestFinished(opened.close)
    browser = await visit(opened.page.link())
  })

  /** A receipt as a service signs it. */
  const signed = (request: string, amount: string, model: string): string =>
    key.sign({
      ...{
        iss: service,
        sub: '0xab',
        iat: 1_795_000_000,
        kind: 'charge',
        request,
        operation: 'createChatCompletion',
      },
      ...{ model, amount_micro_usd: amount, paid_with: { usd: amount, diem: '0' }, written_off_micro_usd: '0' },
      lines: [{ sku: 'chat.output', units: '3', unit_price_pico_usd: '1', amount_micro_usd: amount }],
    })

  const add = (change: Partial<ReceiptRow> & { id: string }) =>
    new ReceiptRows(agent.state).add({
      ...{
        service,
        state: 'verified',
        problem: null,
        receipt: null,
        what: 'A chat',
        request: null,
        call: null,
        tool: null,
      },
      ...{ operation: 'createChatCompletion', model: 'm', saidMicroUsd: null, mostMicroUsd: null, atMs: Date.now() },
      ...change,
    })

  test('has the charges of the receipts and the payments of the journal, to the micro-USD', async () => {
    await agent.chat()
    add({ id: 'charge:r1', receipt: signed('r1', '1234567', 'a/b'), tool: 'chat' })
    add({ id: 'charge:r2', receipt: signed('r2', '1', 'a/b'), tool: 'image_create' })
    const { json } = await browser.ask('GET /api/spending?days=7')
    const shown = json as Spending
    const [payment] = (await agent.wallet?.receipts(1)) ?? []
    expect([shown.paid, shown.total]).toEqual([`${payment?.amountMicroUsd}`, `${1_000n + 1_234_567n + 1n}`])
    expect(shown.byModel).toContainEqual({ name: 'a/b', spent: '1234568', charges: 2 })
    expect(shown.byTool).toContainEqual({ name: 'image_create', spent: '1', charges: 1 })
    expect(shown.byDay.at(-1)).toMatchObject({ spent: '1235568', paid: '5000000' })
  })

  test('lists receipts page by page, newest first, each with its check', async () => {
    for (let n = 0; n < 120; n++)
      add({ id: `charge:r${n}`, atMs: 1_000_000 + n, saidMicroUsd: microUsd(n), state: 'unsigned' })
    add({
      id: 'charge:odd',
      atMs: 2_000_000,
      state: 'differs',
      problem: 'The receipt is for another request.',
      receipt: signed('x', '5', '=1+1'),
    })
    const first = (await browser.ask('GET /api/receipts')).json as ReceiptList
    expect([first.total, first.rows.length, first.rows[0]]).toMatchObject([
      121,
      20,
      {
        id: 'charge:odd',
        state: 'differs',
        amount: '5',
        model: '=1+1',
        problem: 'The receipt is for another request.',
      },
    ])
    const last = (await browser.ask('GET /api/receipts?from=120')).json as ReceiptList
    expect(last.rows.at(-1)).toMatchObject({ id: 'charge:r0', amount: '0' })
    expect(last.rows).toHaveLength(1)
  })

  test.each([
    ['kind=top-up', 1],
    ['kind=charge&state=differs', 1],
    ['text=A/B', 1],
    ['text=image_cr', 1],
    ['state=confirmed&kind=charge', 0],
    ['from=-1', 4],
    ['from=x', 4],
  ])('filters receipts by %s', async (query, count) => {
    await agent.chat()
    add({ id: 'charge:r1', receipt: signed('r1', '1', 'a/b') })
    add({ id: 'charge:r2', state: 'differs', tool: 'image_create', receipt: signed('r2', '2', 'm') })
    expect(((await browser.ask(`GET /api/receipts?${query}`)).json as ReceiptList).total).toBe(count)
  })
})
