import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ChatCompletion, ChatCompletionChunk } from '#contract/operations/chat.ts'
import { GgufChat } from '#engines/gguf/chat.ts'
import { type ChatFixture, type Customer, openFixture } from '../../service/chat-fixture.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { writeRandomModel } from './random-model.ts'

describe('a GGUF file', { timeout: 120_000, tags: ['llama'] }, () => {
  const folder = temporaryFolder('gguf')
  const path = join(folder, 'random.gguf')
  let engine: GgufChat
  let fixture: ChatFixture
  let customer: Customer

  beforeAll(async () => {
    writeRandomModel(path)
    // Threads that wait for each other make a busy machine crawl.
    engine = new GgufChat({ path, threads: 1 })
    fixture = await openFixture({ model: { engine, contextTokens: 2048, maximumCompletionTokens: 512 } })
    customer = await fixture.customer(5)
  })

  afterAll(async () => {
    await fixture.service.close()
    await engine.close()
  })

  test('answers, counts its own tokens, and is charged by them', async () => {
    const before = await fixture.ledger(customer.account)
    const response = await fixture.chat(customer, { max_tokens: 12, seed: 3 })
    expect(response.status).toBe(200)
    const { choices, usage } = (await response.json()) as ChatCompletion
    expect(choices[0]).toMatchObject({ finish_reason: 'length', message: { role: 'assistant' } })
    expect(usage?.completion_tokens).toBe(12)
    expect(usage?.prompt_tokens).toBeGreaterThan('<|user|>hello<|assistant|>'.length)
    const after = await fixture.ledger(customer.account)
    expect(after.charged - before.charged).toBe(BigInt(usage?.prompt_tokens ?? 0) + 120n)
  })

  test('says the same to the same seed, and gives each choice its own', async () => {
    const asked = { max_tokens: 8, seed: 5, n: 2 }
    const texts = async () => {
      const { choices } = (await (await fixture.chat(customer, asked)).json()) as ChatCompletion
      return choices.map(({ message }) => message.content)
    }
    const first = await texts()
    expect(await texts()).toEqual(first)
    expect(first[0]).not.toBe(first[1])
  })

  test('streams pieces that together are the answer', async () => {
    const asked = { max_tokens: 12, seed: 3 }
    const whole = (await (await fixture.chat(customer, asked)).json()) as ChatCompletion
    const stream = await fixture.chat(customer, { ...asked, stream: true, stream_options: { include_usage: true } })
    const chunks = chunksOf(await stream.text())
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(
      whole.choices[0]?.message.content,
    )
    expect(chunks.find(({ choices }) => choices[0]?.finish_reason)?.choices[0]?.finish_reason).toBe('length')
    expect(chunks.at(-1)?.usage).toMatchObject({ completion_tokens: 12 })
  })

  test('keeps to a JSON schema', async () => {
    const schema = { enum: ['small', 'large'] }
    const format = { type: 'json_schema', json_schema: { name: 'size', schema } }
    const response = await fixture.chat(customer, { max_tokens: 200, seed: 1, response_format: format })
    const { choices } = (await response.json()) as ChatCompletion
    expect(['small', 'large']).toContain(JSON.parse(String(choices[0]?.message.content)))
  })

  test.each([
    ['log probabilities', { logprobs: true }, 'logprobs'],
    ['a tool that must be called', { tools: [tool], tool_choice: 'required' }, 'tool_choice'],
    ['a format together with tools', { tools: [tool], response_format: { type: 'json_object' } }, 'response_format'],
    ['an invalid schema', { response_format: { type: 'json_schema', json_schema: { name: 'x' } } }, 'response_format'],
    ['a schema that refers elsewhere', jsonSchema({ $ref: '#' }), 'response_format'],
    ['a schema that counts too much', jsonSchema({ type: 'string', maxLength: 1e6 }), 'response_format'],
    ['an answer to no call', { messages: [{ role: 'tool', tool_call_id: 'x', content: 'y' }] }, 'messages'],
  ])('refuses %s, names the field and charges nothing', async (_, body, field) => {
    const before = await fixture.ledger(customer.account)
    const response = await fixture.chat(customer, body)
    expect(response.status).toBe(400)
    expect(Object.keys(((await response.json()) as { details: object }).details)).toContain(field)
    expect((await fixture.ledger(customer.account)).charged).toBe(before.charged)
  })

  test('takes a conversation with a call and its result', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } }
    const messages = [
      { role: 'user', content: 'How is it?' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'Snow' },
    ]
    const response = await fixture.chat(customer, { messages, tools: [tool], max_tokens: 4 })
    expect(response.status).toBe(200)
  })

  test('tells a caller to try again in a moment while it is busy', async () => {
    const long = { max_tokens: 400, seed: 3, stream: true }
    const answers = await Promise.all([fixture.chat(customer, long), fixture.chat(customer, long)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429])
    for (const { body } of answers) await body?.cancel()
    await expect.poll(async () => (await fixture.chat(customer, { max_tokens: 1 })).status).toBe(200)
  })

  test('a file that is no model is an error of the service, and costs nothing', async () => {
    const broken = join(folder, 'broken.gguf')
    writeFileSync(broken, readFileSync(path).subarray(0, 100_000))
    const problems: unknown[] = []
    const other = await openFixture({
      model: { engine: new GgufChat({ path: broken, onProblem: each => problems.push(each) }) },
    })
    const payer = await other.customer(1)
    expect((await other.chat(payer)).status).toBe(500)
    expect(problems).toHaveLength(1)
    expect((await other.ledger(payer.account)).charged).toBe(0n)
    await other.service.close()
  })
})

const tool = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }

const jsonSchema = (schema: object) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
})

const chunksOf = (text: string): ChatCompletionChunk[] =>
  text
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice(6)))
