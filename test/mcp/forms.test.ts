import type { ElicitResult } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formReadMs } from '#mcp/bounds.ts'
import type { HttpServing } from '#mcp/http/serve.ts'
import { catalogue, listing } from '../conformance/mcp/fixture-catalogue.ts'
import { eras, textOf } from './connect.ts'
import { fakeHost } from './fake-host.ts'
import { httpClient, openHttp } from './open-http.ts'

let served: HttpServing
beforeAll(async () => {
  // The user reads each form before answering.
  let nowMs = 0
  const clock = { now: () => (nowMs += formReadMs) }
  served = await openHttp({ host: async () => fakeHost().host, catalogue, listing, clock })
})
afterAll(() => served.close())

const name = 'test_input_required_result_elicitation'
const form = { elicitation: { form: {} } }

describe.each(eras)('arguments that the user fills in, in the %s era', era => {
  async function call(answer: ElicitResult | undefined, given: Record<string, unknown> = {}, tool = name) {
    const client = await httpClient(served.url, era, { capabilities: answer ? form : {} })
    const asked: unknown[] = []
    if (answer) {
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        asked.push(params.message)
        return answer
      })
    }
    const result = await client.callTool({ name: tool, arguments: given })
    await client.close()
    return { text: textOf(result), asked, result }
  }

  test('they contain what the user wrote, and nothing else of the answer', async () => {
    const { text, asked } = await call({ action: 'accept', content: { name: 'Ann', message: 'not of the form' } })
    expect(asked).toEqual(['What is your name?'])
    expect(text).toBe('The user filled in {"name":"Ann"}.')
  })

  test('the user is not asked for given arguments', async () => {
    const { text, asked } = await call({ action: 'decline' }, { name: 'Bob' })
    expect(asked).toEqual([])
    expect(text).toContain('Bob')
  })

  test.each(['decline', 'cancel'] as const)('a user who leaves the form (%s) ends the call', async action => {
    const { text, result } = await call({ action })
    expect(text).toMatch(/did not fill in the form/)
    expect(result.structuredContent).toMatchObject({
      status: 'declined',
      next_step: expect.stringContaining('Ask the user'),
    })
  })

  test('a client that cannot ask runs the call as it is', async () => {
    expect((await call(undefined)).text).toBe('The user filled in {}.')
  })

  test('a decision after a form is a question of its own', async () => {
    const { text, asked } = await call(
      { action: 'accept', content: { name: 'Ann' } },
      {},
      'test_input_required_result_multi_round',
    )
    expect(asked).toHaveLength(2)
    expect(text).toMatch(/The user denied this/)
  })
})

test.each(eras)('the user is asked for what a prompt lacks, in the %s era', async era => {
  const client = await httpClient(served.url, era, { capabilities: form })
  const name = 'test_input_required_result_prompt'
  const answers: ElicitResult[] = [{ action: 'accept', content: { context: 'the sea' } }, { action: 'decline' }]
  client.setRequestHandler('elicitation/create', async () => answers.shift() ?? { action: 'cancel' })
  const { messages } = await client.getPrompt({ name })
  expect(messages).toMatchObject([{ content: { text: 'The user added: the sea' } }])
  await expect(client.getPrompt({ name })).rejects.toThrow(/context/)
  // The user is not asked for the rest of refused arguments.
  answers.push({ action: 'accept', content: { context: 'the sea' } })
  await expect(client.getPrompt({ name, arguments: { place: 'x' } })).rejects.toThrow(/`place` is not an argument/)
  expect(answers).toHaveLength(1)
  await client.close()
})

test('images, sound and documents stand beside the text', async () => {
  const client = await httpClient(served.url, 'modern')
  const { content } = await client.callTool({ name: 'test_multiple_content_types', arguments: {} })
  expect(content.map(({ type }) => type)).toEqual(['text', 'image', 'resource'])
  await client.close()
})
