import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { taskWorld } from './task-world.ts'

const methods = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const
const hostile = [
  '__proto__',
  'constructor',
  'toString',
  'decision',
  'taskId',
  '_meta',
  'requestState',
  '%',
  '\u0000',
  '\u202e',
]
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(...hostile),
  fc.string({ minLength: 500, maxLength: 900 }),
)
const answer = fc.oneof(
  fc.jsonValue(),
  fc.record({
    action: fc.oneof(fc.constantFrom('accept', 'cancel', 'closed'), text),
    content: fc.oneof(fc.jsonValue(), fc.dictionary(text, fc.jsonValue())),
  }),
)

let world: Awaited<ReturnType<typeof taskWorld>>
let running: Awaited<ReturnType<(typeof world)['open']>>
/** A task that is running, and one that asks the user. */
const known: string[] = []
/** The name of its question. */
let key: string

beforeAll(async () => {
  world = await taskWorld()
  world.world.asksChat = true
  running = await world.open()
  const client = running.client()
  const video = { name: 'video_create', arguments: { model: 'm', prompt: 'a kite', duration: '5s' } }
  known.push((await client.ask('tools/call', video)).taskId)
  const chat = await client.ask('tools/call', { name: 'chat', arguments: { model: 'm', prompt: 'hi' } })
  world.chat.open()
  const { inputRequests } = await world.until(client, chat.taskId, 'input_required')
  known.push(chat.taskId)
  key = Object.keys(inputRequests)[0] ?? ''
})

afterAll(() => world.close())

/** An id of a task in each way that it can be spoiled a little. */
const spoiled = fc
  .tuple(fc.nat(1), fc.nat(60), text)
  .map(([which, at, piece]) => `${known[which]?.slice(0, at)}${piece}${known[which]?.slice(at + 1)}`)

test('whatever comes as an id is an error of the request, and never a fault of ours', async () => {
  const client = running.client()
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...methods), fc.oneof(text, spoiled, fc.jsonValue()), async (method, taskId) => {
      fc.pre(!known.includes(taskId as string))
      const { result, error } = await client.send(method, { taskId, inputResponses: {} })
      expect(result).toBeUndefined()
      // -32020: a text that no header can carry is refused before it is read as an id.
      expect([-32_602, -32_020]).toContain(error?.code)
    }),
    { numRuns: 150 },
  )
  expect(running.log).toEqual([])
})

test('answers without a complete approval are acknowledged, decide nothing for the user, and buy nothing', async () => {
  const client = running.client()
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.jsonValue(),
        fc.dictionary(text, answer),
        answer.map(one => ({ [key]: one })),
      ),
      async inputResponses => {
        const { result, error } = await client.send('tasks/update', { taskId: known[1], inputResponses })
        expect(error).toBeUndefined()
        expect(Object.keys(result ?? {}).filter(key => key !== '_meta')).toEqual(['resultType'])
      },
    ),
    { numRuns: 150 },
  )
  expect(running.log).toEqual([])
  expect(world.server.ledger).toMatchObject({ chats: 0, videos: 1 })
})
