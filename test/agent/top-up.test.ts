import { expect, onTestFinished, test } from 'vitest'
import { createAgent } from '#agent/create-agent.ts'
import { microUsd } from '#contract/money.ts'
import { ApprovalRequired } from '#toolkit/approval.ts'
import { openAgent, temporaryFolder } from './open-agent.ts'
import { pretendService, walletKey } from './pretend-service.ts'

const fiveUsd = microUsd(5_000_000)
const minuteMs = 60_000

/** A wallet that may top up by itself, and a clock that its tests move. */
async function setUp(askAboveUsd = '20') {
  const server = await pretendService()
  onTestFinished(server.close)
  let aheadMs = 0
  const agent = await openAgent({
    baseUrl: server.baseUrl,
    clock: { now: () => Date.now() + aheadMs },
    settings: { askAboveUsd, maxPaymentUsd: '6', maxDayUsd: '20' },
  })
  onTestFinished(agent.close)
  const topUp = (amount = fiveUsd, again?: boolean) => agent.context().wallet.topUp(amount, { again })
  return {
    agent,
    topUp,
    payments: () => new Set(server.ledger.signatures).size,
    wait: (ms: number) => {
      aheadMs += ms
    },
  }
}

test('the same top-up within ten minutes is the one that was paid', async () => {
  const { topUp, payments, wait } = await setUp()
  const first = await topUp()
  expect(first.paid).toMatchObject({ chargedMicroUsd: fiveUsd, creditLeftMicroUsd: fiveUsd })
  wait(9 * minuteMs)
  const second = await topUp()
  expect(second.receipt.id).toBe(first.receipt.id)
  expect(second.paid).toMatchObject({ chargedMicroUsd: 0n, isEarlierCall: true })
  expect(payments()).toBe(1)
  await topUp(microUsd(6_000_000))
  expect(payments()).toBe(2)
  wait(2 * minuteMs)
  expect((await topUp()).paid.chargedMicroUsd).toBe(fiveUsd)
  expect(payments()).toBe(3)
})

test('two at once are one payment; `again` pays again', async () => {
  const { topUp, payments } = await setUp()
  const both = await Promise.all([topUp(), topUp()])
  expect(new Set(both.map(({ receipt }) => receipt.id)).size).toBe(1)
  expect(payments()).toBe(1)
  await topUp(fiveUsd, true)
  expect(payments()).toBe(2)
})

test('credit that a call topped up is not taken for the one that is asked for', async () => {
  const { agent, topUp, payments } = await setUp()
  await agent.chat()
  expect((await topUp()).paid.chargedMicroUsd).toBe(fiveUsd)
  expect(payments()).toBe(2)
})

test('an approved top-up whose answer was lost needs no second approval, but `again` does', async () => {
  const { agent, topUp, payments } = await setUp('1')
  const asked = await topUp().catch(error => error)
  expect(asked).toBeInstanceOf(ApprovalRequired)
  await agent.host.answer(asked.request.approvalId, { kind: 'approve', approved: true })
  await topUp()
  expect((await topUp()).paid.chargedMicroUsd).toBe(0n)
  for (let attempt = 0; attempt < 2; attempt++)
    await expect(topUp(fiveUsd, true)).rejects.toBeInstanceOf(ApprovalRequired)
  expect(payments()).toBe(1)
})

test.each([true, false])('onApproval decides a top-up of a program with %s, the payee included', async approved => {
  const server = await pretendService()
  const asked: string[] = []
  const agent = await createAgent({
    baseUrl: server.baseUrl,
    wallet: { key: walletKey },
    dataFolder: temporaryFolder(),
    notesFolder: temporaryFolder(),
    onApproval: ({ kind }) => {
      asked.push(kind)
      return { kind: 'approve', approved }
    },
  })
  onTestFinished(async () => {
    await agent.close()
    await server.close()
  })
  const outcome = await agent.wallet.topUp(fiveUsd).then(
    ({ receipt }) => receipt.state,
    error => error.name,
  )
  expect([outcome, server.ledger.signatures.length]).toEqual(approved ? ['confirmed', 1] : ['ToolFailure', 0])
  expect(asked.length).toBe(approved ? 2 : 1)
})
