import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { expect, onTestFinished, test } from 'vitest'
import { taskTtlMs } from '#agent/bounds.ts'
import { formReadMs } from '#mcp/bounds.ts'
import { listing } from '#mcp/listing.generated.ts'
import { temporaryFolder } from '../../agent/open-agent.ts'
import { policyText } from '../../agent/pretend-service.ts'
import { type TaskClient, tasksExtension } from './task-client.ts'
import { video as clip, taskWorld } from './task-world.ts'

async function setUp(...options: Parameters<typeof taskWorld>) {
  const world = await taskWorld(...options)
  onTestFinished(world.close)
  return world
}

const video = { name: 'video_create', arguments: { model: 'm', prompt: 'a kite', duration: '5s' } }
const chat = { name: 'chat', arguments: { model: 'm', prompt: 'hi' } }

/** Fails where the structured part is not what the tool's schema says. */
function checked(tool: string, result: { structuredContent?: unknown }) {
  const schema = listing.tools.find(({ name }) => name === tool)?.outputSchema ?? {}
  expect(new AjvJsonSchemaValidator().getValidator(schema)(result.structuredContent)).toMatchObject({ valid: true })
  return result.structuredContent as Record<string, unknown>
}

const refusedBy = async (client: TaskClient, method: string, taskId: unknown) =>
  (await client.send(method, { taskId, inputResponses: {} })).error

test('a video is a task: its status shows progress and price, and it ends with the tool’s result', async () => {
  const { open, until, world, server } = await setUp()
  const client = (await open()).client()
  const created = await client.ask('tools/call', video)
  expect(created).toMatchObject({
    resultType: 'task',
    status: 'working',
    taskId: expect.stringMatching(/^video_create\.job_[0-9a-z]{16}$/),
    statusMessage: expect.stringContaining('Charged 0.20 USD'),
    ttlMs: taskTtlMs,
    pollIntervalMs: 5_000,
  })
  for (const absent of ['result', 'inputRequests', 'requestState']) expect(created).not.toHaveProperty(absent)
  const { taskId } = created
  const words: unknown[] = []
  while (!String(words.at(-1)).includes('of about')) {
    const task = await client.ask('tasks/get', { taskId })
    expect(task).toMatchObject({ resultType: 'complete', status: 'working', createdAt: created.createdAt })
    words.push(task.statusMessage)
  }
  expect(words.at(-1)).toBe('m: 12 s of about 60 s. Charged 0.20 USD.')
  world.video = 'done'
  const { result } = await until(client, taskId, 'completed')
  expect(checked('video_create', result)).toMatchObject({ state: 'completed', charged_usd: 0.2, credit_left_usd: 4.8 })
  expect(result.content).toMatchObject([{ type: 'text' }, { type: 'resource_link', mimeType: 'video/mp4' }])
  expect(await readFile(fileURLToPath(result.content[1].uri))).toEqual(clip)
  // It may be looked at again, and bought nothing twice.
  expect((await client.ask('tasks/get', { taskId })).result).toEqual(result)
  expect(server.ledger.videos).toBe(1)
})

test('a client without tasks gets the usual results, and none of the three methods', async () => {
  const { open } = await setUp()
  const client = (await open()).client({ tasks: false })
  const plain = await client.ask('tools/call', video)
  expect(plain).toMatchObject({ resultType: 'complete', structuredContent: { state: 'running', charged_usd: 0.2 } })
  expect(plain.content[0].text).toContain('Call job_wait with this id')
  const taskId = `video_create.${plain.structuredContent.job_id}`
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    expect(await refusedBy(client, method, taskId)).toMatchObject({
      code: -32_021,
      data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
    })
  }
})

test('consent is requested before a task is created; without it, no task is created', async () => {
  const { open, until, world, server, clock } = await setUp({ asksConsent: true })
  const client = (await open()).client()
  const { inputRequests, requestState, ...asked } = await client.ask('tools/call', video)
  expect(asked).toMatchObject({ resultType: 'input_required' })
  expect(inputRequests.decision.params.message).toContain(policyText.slice(0, 10))
  const ticks = { termsAndPrivacy: true, legalRight: true, screeningAcknowledged: true }
  const answer = (content: object) => ({
    ...video,
    requestState,
    inputResponses: { decision: { action: 'accept', content } },
  })
  const { taskId } = await client.ask('tools/call', answer(ticks))
  world.video = 'done'
  await until(client, taskId, 'completed')
  expect(server.ledger.videos).toBe(1)

  const other = { ...video, arguments: { ...video.arguments, prompt: 'a face' } }
  const second = await client.ask('tools/call', other)
  clock.nowMs += formReadMs
  const declined = await client.ask('tools/call', {
    ...other,
    requestState: second.requestState,
    inputResponses: { decision: { action: 'decline' } },
  })
  expect(declined).toMatchObject({ resultType: 'complete', structuredContent: { status: 'declined' } })
  expect(server.ledger.videos).toBe(1)
})

test('a cancelled task shows the charge; the service continues, and the same call resumes it', async () => {
  const { open, until, world, server } = await setUp()
  const client = (await open()).client()
  const { taskId } = await client.ask('tools/call', video)
  for (let time = 0; time < 2; time++) {
    expect(Object.keys(await client.ask('tasks/cancel', { taskId })).filter(key => key !== '_meta')).toEqual([
      'resultType',
    ])
  }
  const cancelled = await client.ask('tasks/get', { taskId })
  expect(cancelled).toMatchObject({ status: 'cancelled' })
  expect(cancelled).not.toHaveProperty('result')
  expect(cancelled.statusMessage).toMatch(
    /cannot stop work that has begun.*Charged 0\.20 USD\. To get its result, call job_wait with job_/,
  )
  world.video = 'done'
  expect(await client.ask('tools/call', video)).toMatchObject({ taskId, status: 'working' })
  const { lastUpdatedAt } = await until(client, taskId, 'completed')
  await client.ask('tasks/cancel', { taskId })
  expect(await client.ask('tasks/get', { taskId })).toMatchObject({ status: 'completed', lastUpdatedAt })
  expect(server.ledger.videos).toBe(1)
})

test('a task outlives its server, and is the same for the call whose answer was lost and for every client', async () => {
  const { open, until, world, server } = await setUp()
  const first = await open()
  const { taskId } = await first.client().ask('tools/call', video)
  expect(await first.client().ask('tools/call', video)).toMatchObject({ resultType: 'task', taskId })
  await first.close()
  world.video = 'done'
  const second = await open()
  const [one, other] = [second.client(), second.client()]
  const results = await Promise.all([until(one, taskId, 'completed'), until(other, taskId, 'completed')])
  expect(results[0].result.structuredContent.file).toEqual(results[1].result.structuredContent.file)
  expect(server.ledger.videos).toBe(1)
  expect(second.log).toEqual([])
})

test('a job that fails is a result, with its refund or without', async () => {
  const { open, until, world } = await setUp()
  const client = (await open()).client()
  const { taskId } = await client.ask('tools/call', video)
  world.video = 'failed'
  const { result } = await until(client, taskId, 'completed')
  expect(checked('video_create', result)).toMatchObject({ state: 'failed', refunded: false, file: null })
  expect(result.content[0].text).toContain('failed: the model failed')
})

test('waiting for a job is a task too, unless it only checks', async () => {
  const { open, until, world } = await setUp()
  const server = await open()
  const { structuredContent } = await server.client({ tasks: false }).ask('tools/call', video)
  const { job_id } = structuredContent
  const client = server.client()
  const look = { name: 'job_wait', arguments: { job_id, wait_seconds: 0 } }
  expect(await client.ask('tools/call', look)).toMatchObject({ resultType: 'complete' })
  const wait = { name: 'job_wait', arguments: { job_id, wait_seconds: 1 } }
  const { taskId } = await client.ask('tools/call', wait)
  expect(taskId).toBe(`job_wait.${job_id}`)
  world.video = 'done'
  const { result } = await until(client, taskId, 'completed')
  expect(checked('job_wait', result)).toMatchObject({ state: 'completed' })
  expect(result.structuredContent).not.toHaveProperty('charged_usd')
})

test('a chat that takes long becomes a task, and comes to the result of the chat', async () => {
  const { open, until, server, chat: held } = await setUp()
  const client = (await open()).client()
  const { taskId } = await client.ask('tools/call', chat)
  expect(taskId).toMatch(/^chat\.job_/)
  expect(await client.ask('tasks/get', { taskId })).toMatchObject({ status: 'working' })
  held.open()
  const { result } = await until(client, taskId, 'completed')
  expect(checked('chat', result)).toMatchObject({ answer: 'answer 1', charged_usd: 0.001 })
  expect((await client.ask('tasks/get', { taskId })).result).toMatchObject({
    structuredContent: { answer: 'answer 1' },
  })
  expect(server.ledger.chats).toBe(1)
})

test.each([
  ['video_create.job_0000000000000000', 'No job has this id'],
  ['', 'empty'],
  ['job_0000000000000000', 'no tool'],
  ['__proto__.job_0000000000000000', 'no tool of the catalogue'],
  [`video_create.job_${'0'.repeat(5_000)}`, 'too long'],
  ['video_create.job_0000000000000000\n', 'a line more'],
  [7, 'no text'],
  [null, 'nothing'],
])('an id that is of no task is refused: $1', async (taskId, _why) => {
  const { open } = await setUp()
  const { client, log } = await open()
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    expect(await refusedBy(client(), method, taskId)).toMatchObject({ code: -32_602 })
  }
  expect(log).toEqual([])
})

test('another wallet’s task is unknown, another tool cannot use it, and an expired one is reported', async () => {
  const { open, clock, server } = await setUp()
  const own = await open()
  const { taskId } = await own.client().ask('tools/call', video)
  const another = await open({ dataFolder: temporaryFolder() })
  expect(await refusedBy(another.client(), 'tasks/get', taskId)).toMatchObject({ code: -32_602 })
  const forged = taskId.replace('video_create', 'chat')
  expect(await refusedBy(own.client(), 'tasks/get', forged)).toMatchObject({ code: -32_602 })
  clock.nowMs += taskTtlMs
  const over = await refusedBy(own.client(), 'tasks/get', taskId)
  expect(over).toMatchObject({ code: -32_602, message: expect.stringMatching(/expired.*job_wait/) })
  expect(server.ledger.videos).toBe(1)
})
