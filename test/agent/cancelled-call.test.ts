import { expect, onTestFinished, test } from 'vitest'
import { gate } from './gate.ts'
import { openAgent } from './open-agent.ts'
import { pretendService } from './pretend-service.ts'

/** An agent without credit, whose service holds back its first answer at a path. */
async function setUp(path: string, credit = 0) {
  const held = gate()
  const service = await pretendService({
    credit,
    async instead(seen) {
      if (seen.path.startsWith(`/api/v1${path}`)) await held.passed
      return false
    },
  })
  onTestFinished(service.close)
  const agent = await openAgent({ baseUrl: service.baseUrl })
  onTestFinished(agent.close)
  return { held, service, ...agent }
}

/** The abandoned call has ended. */
const ended = ({ paidCalls }: Awaited<ReturnType<typeof setUp>>) => paidCalls.settled()

/** A chat that is cancelled while the service holds its answer back, and that has come to its end. */
async function cancelledChat(agent: Awaited<ReturnType<typeof setUp>>): Promise<void> {
  const stop = new AbortController()
  const call = expect(agent.chat('hi', false, stop.signal)).rejects.toThrow(/abort/i)
  await agent.held.reached
  stop.abort()
  await call
  agent.held.open()
  await ended(agent)
}

test('what is cancelled before it is sent is not sent', async () => {
  const agent = await setUp('/models', 5)
  await cancelledChat(agent)
  expect(agent.service.countOf('/chat/completions')).toBe(0)
  // It has left nothing behind: the same call is a new one.
  expect((await agent.chat()).paid).toMatchObject({ chargedMicroUsd: 1000n })
})

test('what is cancelled before its 402 is answered is not paid for', async () => {
  const agent = await setUp('/chat/completions')
  await cancelledChat(agent)
  expect(agent.service.ledger.signatures).toEqual([])
  expect((await agent.chat()).paid).toMatchObject({ chargedMicroUsd: 1000n })
})

test('a call that another caller waits for continues', async () => {
  const agent = await setUp('/chat/completions')
  const stop = new AbortController()
  const first = expect(agent.chat('hi', false, stop.signal)).rejects.toThrow(/abort/i)
  await agent.held.reached
  const second = agent.chat()
  stop.abort()
  await first
  agent.held.open()
  expect((await second).answer.choices[0]?.message.content).toBe('answer 1')
  expect([agent.service.ledger.chats, agent.service.ledger.signatures.length]).toEqual([1, 1])
})

test('a sent call is kept and its charge reported, and the same call gets it for free', async () => {
  const agent = await setUp('/chat/completions', 5)
  await cancelledChat(agent)
  expect(await agent.context().wallet.charges(5)).toMatchObject([{ amountMicroUsd: 1000n, model: null }])
  expect((await agent.chat()).paid).toMatchObject({ chargedMicroUsd: 0n, isEarlierCall: true })
  expect(agent.service.ledger.chats).toBe(1)
})
