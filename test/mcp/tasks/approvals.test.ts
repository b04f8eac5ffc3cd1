import { expect, onTestFinished, test } from 'vitest'
import { minuteMs } from '#contract/time.ts'
import type { AgentSetUp } from '../../agent/open-agent.ts'
import { type PretendOptions, policyText } from '../../agent/pretend-service.ts'
import type { Declared, TaskClient } from './task-client.ts'
import { taskWorld } from './task-world.ts'

const chat = { name: 'chat', arguments: { model: 'm', prompt: 'hi' } }
const ticks = { termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true }

/** A chat that has become a task, whose service asks for the user's consent only then. */
async function setUp(declared: Declared = {}, service: PretendOptions = {}, agent: Partial<AgentSetUp> = {}) {
  const world = await taskWorld(service)
  onTestFinished(world.close)
  world.world.asksChat = true
  const server = await world.open(agent)
  const client = server.client(declared)
  const { taskId } = await client.ask('tools/call', chat)
  world.chat.open()
  return { ...world, running: server, client, taskId }
}

const answer = (client: TaskClient, taskId: unknown, inputResponses: unknown) =>
  client.ask('tasks/update', { taskId, inputResponses })

const keyOf = ({ inputRequests }: Record<string, unknown>): string => Object.keys(inputRequests as object)[0] ?? ''

test('a task requests a consent when it is needed, with the whole policy, and continues once it is given', async () => {
  const { client, taskId, until, server } = await setUp()
  const task = await until(client, taskId, 'input_required')
  const key = keyOf(task)
  expect(key).toMatch(/^ask_/)
  expect(task.inputRequests[key]).toMatchObject({
    method: 'elicitation/create',
    params: { message: expect.stringContaining(policyText.slice(-20)), requestedSchema: { type: 'object' } },
  })
  // What is not of the open question, and what is no answer, changes nothing.
  const unticked = [{ ...ticks, legalRight: false }, { ...ticks, legalRight: 'true' }, {}].map(content => ({
    [key]: { action: 'accept', content },
  }))
  const other = { decision: { action: 'accept', content: ticks } }
  for (const nothing of [{}, other, { [key]: { action: 'cancel' } }, ...unticked, 7]) {
    const { _meta, ...acknowledged } = await answer(client, taskId, nothing)
    expect(acknowledged).toEqual({ resultType: 'complete' })
    expect(Object.keys((await client.ask('tasks/get', { taskId })).inputRequests)).toEqual([key])
  }
  expect(server.ledger.chats).toBe(0)
  await answer(client, taskId, { [key]: { action: 'accept', content: ticks } })
  const { result } = await until(client, taskId, 'completed')
  expect(result.structuredContent).toMatchObject({ answer: 'answer 1', charged_usd: 0.001 })
  // A late second answer has no question any more.
  await answer(client, taskId, { [key]: { action: 'decline' } })
  expect((await client.ask('tasks/get', { taskId })).result).toEqual(result)
  expect(server.ledger.chats).toBe(1)
})

test('a denial ends the task, and nothing was sent or charged', async () => {
  const { client, taskId, until, server } = await setUp()
  const key = keyOf(await until(client, taskId, 'input_required'))
  await answer(client, taskId, { [key]: { action: 'decline' } })
  const { result } = await until(client, taskId, 'completed')
  expect(result).toMatchObject({ structuredContent: { status: 'declined', approval_id: key } })
  expect(result).not.toHaveProperty('isError')
  expect(server.ledger).toMatchObject({ chats: 0, credit: 5 })
})

test('a request survives a restart of the server, and another client may answer it', async () => {
  const { client, taskId, until, running, open, server } = await setUp()
  const key = keyOf(await until(client, taskId, 'input_required'))
  await running.close()
  const second = await open()
  const [one, other] = [second.client(), second.client()]
  expect(keyOf(await one.ask('tasks/get', { taskId }))).toBe(key)
  await Promise.all([
    answer(one, taskId, { [key]: { action: 'accept', content: ticks } }),
    answer(other, taskId, { [key]: { action: 'accept', content: ticks } }),
  ])
  expect((await until(other, taskId, 'completed')).result.structuredContent).toMatchObject({ answer: 'answer 1' })
  expect(server.ledger.chats).toBe(1)
  expect(second.log).toEqual([])
})

test('if the client cannot ask, the task ends with the request, and an answer from it does not count', async () => {
  const { client, taskId, until, server } = await setUp({ elicitation: false })
  const { result } = await until(client, taskId, 'completed')
  expect(result.structuredContent).toMatchObject({ status: 'needs_approval', next_step: expect.any(String) })
  expect(result.content[0].text).toContain(policyText.slice(0, 10))
  const key = result.structuredContent.approval_id
  await answer(client, taskId, { [key]: { action: 'accept', content: ticks } })
  expect((await client.ask('tasks/get', { taskId })).result).toEqual(result)
  expect(server.ledger.chats).toBe(0)
})

test('an approval at the terminal also lets the task continue', async () => {
  const { client, taskId, until, running, server } = await setUp()
  const key = keyOf(await until(client, taskId, 'input_required'))
  await running.agent.approvals.resolve(key, { isApproved: true, by: 'terminal ada' })
  expect((await until(client, taskId, 'completed')).result.structuredContent).toMatchObject({ answer: 'answer 1' })
  expect(server.ledger.chats).toBe(1)
})

test('cancelled while it asks, it costs nothing, and a later approval has no effect', async () => {
  const { client, taskId, until, server } = await setUp()
  const key = keyOf(await until(client, taskId, 'input_required'))
  await client.ask('tasks/cancel', { taskId })
  const cancelled = await client.ask('tasks/get', { taskId })
  expect(cancelled).toMatchObject({
    status: 'cancelled',
    statusMessage: 'Cancelled before anything was sent or charged.',
  })
  await answer(client, taskId, { [key]: { action: 'accept', content: ticks } })
  expect(await client.ask('tasks/get', { taskId })).toMatchObject({ status: 'cancelled' })
  expect(server.ledger).toMatchObject({ chats: 0, credit: 5 })
})

test('cancelled after an approval at the terminal and before a poll, it is never begun', async () => {
  const { client, taskId, until, running, server } = await setUp()
  const key = keyOf(await until(client, taskId, 'input_required'))
  await running.agent.approvals.resolve(key, { isApproved: true, by: 'terminal ada' })
  await client.ask('tasks/cancel', { taskId })
  expect(await client.ask('tasks/get', { taskId })).toMatchObject({ status: 'cancelled' })
  await running.agent.paidCalls.settled()
  expect(server.ledger).toMatchObject({ chats: 0, credit: 5 })
})

test('further approval requests belong to the same tool', async () => {
  const { client, taskId, until } = await setUp({}, { credit: 0 }, { isNewPayee: true })
  const consent = keyOf(await until(client, taskId, 'input_required'))
  await answer(client, taskId, { [consent]: { action: 'accept', content: ticks } })
  const task = await until(client, taskId, 'input_required')
  expect(keyOf(task)).not.toBe(consent)
  const { message } = task.inputRequests[keyOf(task)].params
  expect(message).toContain('to a new address?')
  expect(message).toContain('Tool: chat')
})

test('the same call, bought and delivered after the approval, is also the task’s and is not bought again', async () => {
  const { client, taskId, until, running, open, server } = await setUp()
  const key = keyOf(await until(client, taskId, 'input_required'))
  await running.agent.approvals.resolve(key, { isApproved: true, by: 'terminal ada' })
  const other = await open({ pause: () => new Promise(() => {}) })
  expect((await other.agent.chat('hi')).answer.choices[0]?.message.content).toBe('answer 1')
  expect((await until(client, taskId, 'completed')).result.structuredContent).toMatchObject({ answer: 'answer 1' })
  expect(server.ledger.chats).toBe(1)
})

test('a request that is not answered in time ends the task', async () => {
  const { client, taskId, until, clock, server } = await setUp()
  await until(client, taskId, 'input_required')
  clock.nowMs += 60 * minuteMs
  const { result } = await until(client, taskId, 'completed')
  expect(result).toMatchObject({ isError: true, structuredContent: { charged_usd: 0 } })
  expect(result.content[0].text).toContain('did not answer in time')
  expect(server.ledger.chats).toBe(0)
})

test('the same call, made by another caller meanwhile, is not made twice', async () => {
  const { client, taskId, until, running, server } = await setUp()
  const key = keyOf(await until(client, taskId, 'input_required'))
  await running.agent.approvals.resolve(key, { isApproved: true, by: 'terminal ada' })
  const again = running.client({ tasks: false }).ask('tools/call', chat)
  const { result } = await until(client, taskId, 'completed')
  await again
  // Whichever came first has the answer; where that is the other one's job, the task names it.
  expect(result.content[0].text).toMatch(/answer 1|continue\w+ as job job_[0-9a-z]{16}/)
  expect(server.ledger.chats).toBe(1)
})
