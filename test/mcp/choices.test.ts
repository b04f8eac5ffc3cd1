import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Connection, connect, eras } from './connect.ts'
import { fakeHost, receipt, videoModel } from './fake-host.ts'

const models = ['kling-5', 'demo-video', 'demo-chat', 'wan/2'].map(id => ({
  ...videoModel,
  id,
  type: id === 'demo-chat' ? ('text' as const) : ('video' as const),
}))

describe.each(eras)('in the %s era', era => {
  let connection: Connection
  beforeAll(async () => {
    connection = await connect({ era, host: fakeHost({ models }).host })
  })
  afterAll(() => connection.disconnect())

  const ofPrompt = (name: string, argument: string, value: string) =>
    connection.client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } })
  const ofTemplate = (uri: string, value: string) =>
    connection.client.complete({ ref: { type: 'ref/resource', uri }, argument: { name: 'id', value } })

  test('ids of models that begin so come before those that have it inside', async () => {
    const { completion } = await ofPrompt('make-a-video', 'model', 'D')
    expect(completion).toEqual({ values: ['demo-video'], total: 1, hasMore: false })
    expect((await ofPrompt('compare-models', 'first', '')).completion.values).toEqual(['demo-chat'])
    expect((await ofTemplate('farebox://models/{id}', 'n')).completion.values).toEqual(['kling-5', 'wan/2'])
    expect((await ofTemplate('farebox://receipts/{id}', 'r')).completion.values[0]).toBe(receipt.id)
  })

  test('fixed values need no host', async () => {
    const other = await connect({ era, host: fakeHost().host })
    const { completion } = await other.client.complete({
      ref: { type: 'ref/prompt', name: 'review-spending' },
      argument: { name: 'period', value: 'last' },
    })
    expect([completion.values, other.hostsMade()]).toEqual([['the last 7 days'], 0])
    await other.disconnect()
  })

  test('what has no values has none, and what is not there is an error', async () => {
    expect((await ofPrompt('make-a-video', 'idea', 'a')).completion.values).toEqual([])
    await expect(ofPrompt('make-a-video', 'speed', 'a')).rejects.toMatchObject({ code: -32602 })
    await expect(ofTemplate('farebox://nothing/{id}', 'a')).rejects.toMatchObject({ code: -32602 })
  })
})

test('a service that fails gives nothing, and is not asked again at every key', async () => {
  let asked = 0
  const { host } = fakeHost()
  const connection = await connect({
    host: {
      ...host,
      context: invocation => ({
        ...host.context(invocation),
        async models() {
          asked += 1
          throw new Error('away')
        },
      }),
    },
  })
  for (const value of ['d', 'de', 'dem']) {
    const { completion } = await connection.client.complete({
      ref: { type: 'ref/prompt', name: 'make-a-video' },
      argument: { name: 'model', value },
    })
    expect(completion.values).toEqual([])
  }
  expect(asked).toBe(1)
  await connection.disconnect()
})
