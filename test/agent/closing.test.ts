import { expect, onTestFinished, test } from 'vitest'
import { closingMs, longCallMs } from '#agent/bounds.ts'
import { start, stop } from '#wallet/rules/stop-switch.ts'
import { manualClock } from '../client/manual-clock.ts'
import { asAssistant } from './as-assistant.ts'
import { type AgentSetUp, openAgent, temporaryFolder } from './open-agent.ts'
import { type PretendOptions, pretendService } from './pretend-service.ts'

type Agent = Awaited<ReturnType<typeof openAgent>>

/** A service that holds its first chat until `release`; `pause` decides which waits of the agent end, and when. */
async function setUp(
  waits: (ms: number, arrived: Promise<void>) => Promise<void>,
  service: PretendOptions = {},
  options: Partial<AgentSetUp> = {},
) {
  const [arrived, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isFirst = true
  const server = await pretendService({
    credit: 5,
    takesKeys: true,
    ...service,
    instead: async seen => {
      if (!isFirst || !seen.path.endsWith('/chat/completions')) return false
      isFirst = false
      arrived.resolve()
      await held.promise
      return false
    },
  })
  onTestFinished(server.close)
  const shared = { baseUrl: server.baseUrl, dataFolder: temporaryFolder(), clock: manualClock(), ...options }
  const open = async (more: Partial<AgentSetUp> = {}) => {
    const agent = await openAgent({ ...shared, ...more })
    onTestFinished(agent.close)
    return agent
  }
  const agent = await open({ pause: ms => waits(ms, arrived.promise) })
  return { server, open, agent, arrived: arrived.promise, release: held.resolve }
}

const statesOf = ({ state }: Agent) =>
  state
    .database()
    .prepare('SELECT state FROM paid_calls')
    .all()
    .map(row => row.state)

const never = () => new Promise<void>(() => {})

const call = (agent: Agent, name: string, given: object) => asAssistant(agent.host, name, given)

const onlyClosing = (ms: number) => (ms === closingMs ? Promise.resolve() : never())

test('a call whose agent is closed in the middle of it is lost, and the next process has its answer', async () => {
  const { server, open, agent, arrived, release } = await setUp(onlyClosing)
  const calling = agent.chat().catch(error => error)
  await arrived
  await agent.host.close()
  expect(await calling).toMatchObject({ facts: { charged: 'unknown' } })
  expect(statesOf(agent)).toEqual(['lost'])
  release()
  const { answer } = await (await open()).chat()
  expect(answer.choices[0]?.message.content).toBe('answer 1')
  expect(server.ledger.chats).toBe(1)
  expect(new Set(server.seen.flatMap(seen => seen.headers['idempotency-key'] ?? [])).size).toBe(1)
})

test('so is one that had become a job, which the next process continues', async () => {
  const { server, open, agent, release } = await setUp((ms, arrived) => (ms === longCallMs ? arrived : onlyClosing(ms)))
  const { job_id } = (await call(agent, 'chat', { model: 'm', prompt: 'hi' })).output
  await agent.host.close()
  expect(statesOf(agent)).toEqual(['lost'])
  release()
  const next = await open()
  expect((await call(next, 'job_wait', { job_id, wait_seconds: 45 })).output).toMatchObject({ answer: 'answer 1' })
  expect(server.ledger.chats).toBe(1)
})

test('a call whose wallet is stopped before its repeat is lost, and not bought again when the wallet is started', async () => {
  const { server, agent, arrived, release } = await setUp(never, { losesAnswers: 1 })
  const calling = agent.chat().catch(error => error)
  await arrived
  await agent.records.decide(nowMs => stop('a test', nowMs))
  release()
  expect(await calling).toMatchObject({ facts: { charged: 'unknown' } })
  expect(statesOf(agent)).toEqual(['lost'])
  await agent.records.decide(() => start())
  expect((await agent.chat()).answer.choices[0]?.message.content).toBe('answer 1')
  expect(server.ledger.chats).toBe(1)
})
