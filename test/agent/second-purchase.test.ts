/** A call that was sent without an idempotency key and may have been charged is bought again only with the user's approval. */
import { expect, onTestFinished, test } from 'vitest'
import { ApprovalRequired } from '#toolkit/approval.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { answerJson } from '../client/little-server.ts'
import { manualClock } from '../client/manual-clock.ts'
import { openAgent } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

const minute = 60_000

/** A service that knows no keys, has lost the answer of one chat, and shows no charge for it. */
async function lostWithoutCharge() {
  const clock = manualClock()
  const server = await pretendService({
    credit: 5,
    losesAnswers: 1,
    instead: (seen, response) => {
      if (!seen.path.includes('/x402/transactions/')) return false
      const pagination = { limit: 50, offset: 0, hasMore: false }
      const data = { walletAddress: 'w', currentBalance: 5, transactions: [], pagination }
      answerJson(response, 200, { success: true, data })
      return true
    },
  })
  onTestFinished(server.close)
  const agent = await openAgent({ baseUrl: server.baseUrl, clock })
  onTestFinished(agent.close)
  expect(await agent.chat().catch(error => error)).toBeInstanceOf(ToolFailure)
  const answer = (id: string, approved: boolean) => agent.host.answer(id, { kind: 'approve', approved })
  return { server, agent, clock, answer }
}

const asked = async (run: Promise<unknown>): Promise<ApprovalRequired['request']> => {
  const error = await run.catch(thrown => thrown)
  if (!(error instanceof ApprovalRequired)) throw error
  return error.request
}

test('the user is asked for as long as it is remembered, and one approval buys it once', async () => {
  const { server, agent, clock, answer } = await lostWithoutCharge()
  const early = await agent.chat().catch(error => error)
  expect(early.facts).toMatchObject({
    happened: expect.stringContaining('no charge yet'),
    retryAtMs: clock.nowMs + 3 * minute,
  })
  for (const minutes of [3, 12, 30]) {
    clock.nowMs += minutes * minute
    const because = expect.stringContaining('the service may charge for both')
    expect(await asked(agent.chat())).toMatchObject({ because })
  }
  expect(server.ledger.chats).toBe(1)
  const { approvalId } = await asked(agent.chat())
  await answer(approvalId, true)
  expect((await agent.chat()).paid.chargedMicroUsd).toBe(1_000n)
  expect(server.ledger.chats).toBe(2)
})

test('a no stays one', async () => {
  const { server, agent, clock, answer } = await lostWithoutCharge()
  clock.nowMs += 4 * minute
  const { approvalId } = await asked(agent.chat())
  await answer(approvalId, false)
  await expect(agent.chat()).rejects.toThrow('has denied')
  expect(server.ledger.chats).toBe(1)
})

test('what was bought again on purpose is asked about no more', async () => {
  const { server, agent, clock } = await lostWithoutCharge()
  clock.nowMs += 4 * minute
  await asked(agent.chat())
  await agent.chat('hi', true)
  clock.nowMs += 20 * minute
  await agent.chat()
  expect(server.ledger.chats).toBe(3)
})
