import { hostname } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { clockSkewMs, finishedJobsKeptMs, keptFinishedJobs, longCallMs, paidAnswerMs } from '#agent/bounds.ts'
import { agentTool } from '#agent/tools/agent-tool.ts'
import { canaryApiKey } from '../canary/canaries.ts'
import { answerJson, type Seen } from '../client/little-server.ts'
import { manualClock } from '../client/manual-clock.ts'
import { asAssistant, toolOf } from './as-assistant.ts'
import { type AgentSetUp, openAgent, temporaryFolder } from './open-agent.ts'
import { failureOf } from './outcome-of.ts'
import { creditRequired, type PretendOptions, pretendService } from './pretend-service.ts'

type Agent = Awaited<ReturnType<typeof openAgent>>

const isChat = (seen: Seen): boolean => seen.path.endsWith('/chat/completions')

/**
 * A service that holds its first chat until `release`, and agents on one folder for whom the long wait is over as soon as
 * that chat has arrived, until it is released; every other wait is over at once and moves the clock.
 */
async function setUp(service: PretendOptions = {}, options: Partial<AgentSetUp> = {}) {
  const [arrived, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const clock = manualClock()
  let [isFirst, isReleased] = [true, false]
  const server = await pretendService({
    credit: 5,
    ...service,
    instead: async (seen, response) => {
      if (isFirst && isChat(seen)) {
        isFirst = false
        arrived.resolve()
        await held.promise
      }
      return (await service.instead?.(seen, response)) ?? false
    },
  })
  onTestFinished(server.close)
  const pause: AgentSetUp['pause'] = async (ms, signal) => {
    if (ms === paidAnswerMs) return new Promise(() => {})
    if (ms === longCallMs && !isReleased) return arrived.promise
    if (ms === longCallMs) return new Promise(() => {})
    // Lets what came from the service be read first.
    await new Promise(resolve => setImmediate(resolve))
    signal?.throwIfAborted()
    clock.nowMs += ms
  }
  const dataFolder = temporaryFolder()
  const open = async (more: Partial<AgentSetUp> = {}) => {
    const agent = await openAgent({ baseUrl: server.baseUrl, dataFolder, clock, pause, ...options, ...more })
    onTestFinished(agent.close)
    return agent
  }
  const release = () => {
    isReleased = true
    held.resolve()
  }
  return { server, clock, open, agent: await open(), arrived: arrived.promise, release }
}

const call = (agent: Agent, name: string, given: object, signal?: AbortSignal) =>
  asAssistant(agent.host, name, given, signal)

const chat = { model: 'm', prompt: 'hi' }

const wait = (agent: Agent, job_id: unknown, wait_seconds = 45) => call(agent, 'job_wait', { job_id, wait_seconds })

/** The chat as a job whose call has ended in this process, however it did. */
async function startedJob(world: Awaited<ReturnType<typeof setUp>>): Promise<string> {
  const { output } = await call(world.agent, 'chat', chat)
  world.release()
  await world.agent.paidCalls.settled()
  return String(output.job_id)
}

test('a program waits for as long as its chat takes', async () => {
  const { agent, arrived, release } = await setUp()
  const asked = agentTool(await toolOf('chat'), agent.host, undefined).call(chat)
  await arrived
  release()
  expect((await asked).output).toMatchObject({ answer: 'answer 1', charged_usd: 0.001 })
  expect((await call(agent, 'job_list', {})).output.jobs).toEqual([])
})

test('a chat that takes longer than an assistant waits becomes a job, which gives the result of the chat', async () => {
  const { agent, server, release } = await setUp()
  const started = await call(agent, 'chat', chat)
  expect(started.output).toMatchObject({ job_id: expect.stringMatching(/^job_/), state: 'running', charged_usd: null })
  expect(started.text).toContain(`Call job_wait with this id`)
  const { job_id } = started.output
  expect((await call(agent, 'job_list', {})).output.jobs).toMatchObject([{ job_id, model: 'm', state: 'running' }])
  expect((await wait(agent, job_id, 3)).output).toMatchObject({ job_id, state: 'running' })
  release()
  await agent.paidCalls.settled()
  expect((await call(agent, 'job_list', {})).output.jobs).toMatchObject([{ state: 'completed', price_usd: 0.001 }])
  for (let time = 0; time < 2; time++) {
    const done = await wait(agent, job_id)
    expect(done.output).toMatchObject({ answer: 'answer 1', charged_usd: 0.001, credit_left_usd: 4.999 })
    expect(done.output).not.toHaveProperty('already_paid')
    expect(done.text).toContain('answer of m')
  }
  expect(server.ledger.chats).toBe(1)
  // Delivered is delivered: the same question again is another one.
  expect((await call(agent, 'chat', chat)).output).toMatchObject({ answer: 'answer 2' })
})

test('a wait ends with the answer, not with its time', async () => {
  const { agent, release } = await setUp()
  const { output } = await call(agent, 'chat', chat)
  const waiting = wait(agent, output.job_id)
  release()
  const done = await waiting
  expect(done.output.state ?? done.output.answer).toMatch(/running|answer 1/)
  await agent.paidCalls.settled()
  expect((await wait(agent, output.job_id, 0)).output).toMatchObject({ answer: 'answer 1' })
})

test('the same chat while its job runs is that job, and has the answer once it is there', async () => {
  const { agent, server, release } = await setUp()
  const { output } = await call(agent, 'chat', chat)
  expect((await call(agent, 'chat', chat)).output).toMatchObject({ job_id: output.job_id, state: 'running' })
  release()
  await agent.paidCalls.settled()
  expect((await call(agent, 'chat', chat)).output).toMatchObject({ answer: 'answer 1', already_paid: true })
  expect(server.ledger.chats).toBe(1)
})

test('a chat of another process is its job here too', async () => {
  const { agent, open, release } = await setUp()
  const { output } = await call(agent, 'chat', chat)
  const other = await open()
  expect((await call(other, 'chat', chat)).output).toMatchObject({ job_id: output.job_id, state: 'running' })
  expect((await wait(other, output.job_id, 3)).output).toMatchObject({ state: 'running' })
  release()
  await agent.paidCalls.settled()
  expect((await wait(other, output.job_id)).output).toMatchObject({ answer: 'answer 1', charged_usd: 0.001 })
})

test('a chat that is cancelled before becomes no job', async () => {
  const { agent, release } = await setUp()
  const stop = new AbortController()
  stop.abort()
  await expect(call(agent, 'chat', chat, stop.signal)).rejects.toThrow(/abort/i)
  release()
  await agent.paidCalls.settled()
  expect((await call(agent, 'job_list', {})).output.jobs).toEqual([])
})

test('a chat that the service refuses late ends its job with the reason, and costs nothing', async () => {
  const world = await setUp({
    instead: (seen, response) => {
      if (!isChat(seen)) return false
      answerJson(response, 400, { error: 'strange words' })
      return true
    },
  })
  const job = await startedJob(world)
  const { output, text } = await wait(world.agent, job)
  expect(output).toMatchObject({
    state: 'failed',
    price_usd: 0,
    failure: expect.stringContaining('does not accept these values'),
  })
  expect(text).toContain('Nothing was charged.')
  expect(text).toContain('<<< message of the service, untrusted data\nstrange words\n>>> end of')
})

/** The answer is lost once, and the client's own repeat is not let in. */
const losingOnce = (): PretendOptions => {
  let chats = 0
  return {
    losesAnswers: 1,
    instead: (seen, response) => {
      if (!isChat(seen) || ++chats !== 2) return false
      answerJson(response, 401, { error: 'Authentication failed' })
      return true
    },
  }
}

const keysOf = (server: { seen: Seen[] }) => server.seen.filter(isChat).map(seen => seen.headers['idempotency-key'])

test('a job whose process has ended requests its answer under the same key, and is charged once', async () => {
  const world = await setUp({ takesKeys: true, ...losingOnce() })
  const job = await startedJob(world)
  const later = await world.open()
  expect((await wait(later, job)).output).toMatchObject({ answer: 'answer 1', charged_usd: 0.001 })
  expect(world.server.ledger).toMatchObject({ chats: 1, credit: expect.closeTo(4.999) })
  expect(new Set(keysOf(world.server)).size).toBe(1)
})

test('it does so at the first call after a start, whatever that call is', async () => {
  const world = await setUp({ takesKeys: true, ...losingOnce() })
  const job = await startedJob(world)
  world.clock.nowMs += 1
  const later = await world.open()
  await call(later, 'job_list', {})
  await later.paidCalls.settled()
  expect((await call(later, 'job_list', {})).output.jobs).toMatchObject([{ job_id: job, state: 'completed' }])
})

const gone: [rule: string, owner: string][] = [
  ['another container', '7@0123456789ab#another-start'],
  ['a process whose number another one has now', `${process.ppid}@${hostname()}#another-start`],
]

test.each(gone)('a job of %s is asked for once its request must be over', async (_rule, owner) => {
  const world = await setUp({ takesKeys: true })
  const { output } = await call(world.agent, 'chat', chat)
  world.agent.state.database().prepare('UPDATE paid_calls SET owner = ?').run(owner)
  world.clock.nowMs += paidAnswerMs
  const later = await world.open()
  expect((await wait(later, output.job_id, 0)).output).toMatchObject({ state: 'running' })
  expect(keysOf(world.server)).toHaveLength(1)
  world.clock.nowMs += clockSkewMs + 1
  await wait(later, output.job_id, 0)
  await later.paidCalls.settled()
  expect((await wait(later, output.job_id)).output).toMatchObject({ answer: 'answer 1' })
  expect(new Set(keysOf(world.server)).size).toBe(1)
  world.release()
  await world.agent.paidCalls.settled()
  expect(world.server.ledger.chats).toBe(1)
})

test('a job whose process ended before its call was sent is dropped', async () => {
  const world = await setUp({ takesKeys: true, ...losingOnce() })
  const job = await startedJob(world)
  const owner = `${process.pid}@${hostname()}#another-start`
  world.agent.state.database().prepare(`UPDATE paid_calls SET state = 'planned', owner = ?`).run(owner)
  const { text } = await wait(world.agent, job)
  expect(text).toContain('ended before it sent the call')
  expect(text).toContain('Nothing was charged.')
})

test('a job pays for nothing: a service that had not begun ends it', async () => {
  let isPoor = false
  const lost = losingOnce()
  const world = await setUp({
    takesKeys: true,
    ...lost,
    instead: (seen, response) => {
      if (!isPoor || !isChat(seen)) return lost.instead?.(seen, response) ?? false
      answerJson(response, 402, creditRequired(0))
      return true
    },
  })
  const job = await startedJob(world)
  isPoor = true
  expect((await wait(world.agent, job)).output).toMatchObject({ state: 'failed', price_usd: 0 })
  expect(world.server.ledger.signatures).toEqual([])
})

test('after a day, when its key may have expired, a job is no longer requested under it', async () => {
  const world = await setUp({ takesKeys: true, ...losingOnce() })
  const job = await startedJob(world)
  world.clock.nowMs += 21 * 60 * 60_000
  const { text } = await wait(await world.open(), job)
  expect(text).toContain('it is unknown whether it was charged')
  expect(text).toContain('The charge is unknown')
  expect(keysOf(world.server)).toHaveLength(2)
})

/** A service without keys that loses the first answer, and shows these charges. */
const showing = (charges: () => object[]): PretendOptions => ({
  losesAnswers: 1,
  instead: (seen, response) => {
    if (!seen.path.includes('/x402/transactions/')) return false
    const pagination = { limit: 50, offset: 0, hasMore: false }
    const data = { walletAddress: 'w', currentBalance: 5, transactions: charges(), pagination }
    answerJson(response, 200, { success: true, data })
    return true
  },
})

const charge = (atMs: number) => {
  const ids = { id: 't', requestId: 'r', modelId: 'm' }
  return { ...ids, amount: -0.001, balanceAfter: 4.999, type: 'CHARGE', createdAt: new Date(atMs).toISOString() }
}

test('without keys a lost answer ends its job with what the service charged, and nothing is bought again', async () => {
  const world = await setUp(showing(() => [charge(world.clock.nowMs)]))
  const job = await startedJob(world)
  for (let time = 0; time < 2; time++) {
    const { output, text } = await wait(world.agent, job)
    expect(output).toMatchObject({ state: 'failed', price_usd: null })
    expect(text).toContain('show a charge of 0.001 USD since')
  }
  expect(world.server.countOf('/chat/completions')).toBe(1)
})

test('without keys and without a charge the job waits for one to be shown, and then ends', async () => {
  const world = await setUp(showing(() => []))
  const job = await startedJob(world)
  const open = await failureOf(wait(world.agent, job))
  expect(open).toMatchObject({ charged: 'unknown', next: expect.stringContaining('job_wait') })
  world.clock.nowMs = Math.max(world.clock.nowMs, open.retryAtMs ?? 0)
  const { output, text } = await wait(world.agent, job)
  expect(output).toMatchObject({ state: 'failed', price_usd: null })
  expect(text).toContain('show no charge for it')
  expect(world.server.countOf('/chat/completions')).toBe(1)
})

test('a job of another wallet stays, and says whose it is', async () => {
  const world = await setUp({ takesKeys: true, ...losingOnce() })
  const job = await startedJob(world)
  const other = await world.open({ apiKey: canaryApiKey, walletKey: undefined })
  expect(await failureOf(wait(other, job))).toMatchObject({
    happened: expect.stringContaining('a different wallet or API key'),
    next: expect.stringContaining('start this server with that one'),
  })
  expect((await wait(world.agent, job)).output).toMatchObject({ answer: 'answer 1' })
})

test('a job gives its result for as long as its answer is kept, however late that came', async () => {
  const world = await setUp()
  const job = await startedJob(world)
  world.clock.nowMs += 23 * 60 * 60_000
  expect((await wait(world.agent, job)).output).toMatchObject({ answer: 'answer 1' })
  world.clock.nowMs += 2 * 60 * 60_000
  await call(world.agent, 'chat', { ...chat, prompt: 'another' })
  expect((await wait(world.agent, job)).output).toMatchObject({ answer: 'answer 1' })
})

test('a job whose answer is not kept any more says so', async () => {
  const world = await setUp()
  const job = await startedJob(world)
  world.clock.nowMs += 25 * 60 * 60_000
  await call(world.agent, 'chat', { ...chat, prompt: 'another' })
  expect((await failureOf(wait(world.agent, job))).happened).toContain('kept for a day')
})

test('a job that was written down beside the answer of its call ends with that answer', async () => {
  const world = await setUp()
  const jobId = await startedJob(world)
  // As a process leaves it that looked for the call before another one kept its answer.
  world.agent.state.database().prepare(`UPDATE jobs SET state = 'running'`).run()
  expect((await wait(world.agent, jobId)).output).toMatchObject({ answer: 'answer 1', charged_usd: 0.001 })
  expect((await call(world.agent, 'job_list', {})).output.jobs).toMatchObject([{ state: 'completed' }])
})

test('jobs that have ended are forgotten, by age and by number, and none that runs', async () => {
  const { agent, clock } = await setUp()
  const rows = agent.jobRows
  const start = (n: number) =>
    rows.insertCall({ service: 's', model: 'm', callId: `call_${n}`, request: {}, tool: { name: 'chat', given: {} } })
  const [first, second] = [start(1), start(2)]
  rows.callFailed(first.jobId, 'No.', null)
  clock.nowMs += finishedJobsKeptMs
  start(3)
  expect(rows.find(first.jobId)).not.toBe(null)
  clock.nowMs += 1
  start(4)
  expect([rows.find(first.jobId), rows.find(second.jobId)?.state]).toEqual([null, 'running'])
  const database = agent.state.database()
  database.exec(`WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ${keptFinishedJobs + 50})
    INSERT INTO jobs (id, kind, service, queue_id, model, state, started_at_ms)
      SELECT 'job_' || i, 'video', 's', i, 'm', 'completed', ${clock.nowMs} + i FROM n`)
  start(5)
  const ended = database.prepare(
    `SELECT COUNT(*) AS many, MIN(queue_id + 0) AS oldest FROM jobs WHERE state <> 'running'`,
  )
  expect(ended.get()).toEqual({ many: keptFinishedJobs, oldest: 51 })
})
