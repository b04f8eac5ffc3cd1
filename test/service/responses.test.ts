import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inferenceFailed } from '#contract/errors/errors.ts'
import { ResponsesAnswer, ResponsesEvent } from '#contract/operations/responses.ts'
import { DemoWeb } from '#engines/demo/web.ts'
import { type ChatFixture, type Customer, inputMicroUsd, openFixture, outputMicroUsd } from './chat-fixture.ts'
import { used, words } from './chat-script.ts'
import { closeSound } from './close-sound.ts'

const web = new DemoWeb()
const answered = [...words('An', ' answer'), { usage: used(100, 10) }]
const tokens = 100n * inputMicroUsd + 10n * outputMicroUsd

let fixture: ChatFixture
beforeAll(async () => {
  fixture = await openFixture({ search: web, pages: web })
})
beforeEach(() => fixture.engine.play(answered))
// Whatever became of the call, nothing stays held.
afterEach(() => expect.poll(() => fixture.openHolds()).toBe(0))
afterAll(async () => {
  await closeSound(fixture.service)
})

const post = (customer: Customer, body: object, headers: Record<string, string> = {}) =>
  fixture.service.request('/api/v1/responses', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${customer.key}`, ...headers },
    body: JSON.stringify({ model: 'scripted', input: 'hello', max_output_tokens: 50, ...body }),
  })

const asked = () => fixture.engine.calls.at(-1)?.request

async function events(body: object, customer?: Customer) {
  const response = await post(customer ?? (await fixture.customer(1)), { stream: true, ...body })
  const text = await response.text()
  expect([response.status, text.endsWith('data: [DONE]\n\n')]).toEqual([200, true])
  const names = text.split('\n').flatMap(line => (line.startsWith('event: ') ? [line.slice(7)] : []))
  const data = text
    .split('\n')
    .flatMap(line => (line.startsWith('data: {') ? [ResponsesEvent.parse(JSON.parse(line.slice(6)))] : []))
  expect(names).toEqual(data.map(({ type }) => type))
  expect(data.map(({ sequence_number: number }) => number)).toEqual(data.map((_, index) => index))
  return data
}

const last = (data: ResponsesEvent[]) => ResponsesAnswer.parse(data.at(-1)?.response)

describe('§5.6 a whole answer', () => {
  test('has the items of the answer, what was used, and the charge of the same chat', async () => {
    const customer = await fixture.customer(1)
    const response = await post(customer, {})
    const answer = ResponsesAnswer.parse(await response.json())
    expect(response.status).toBe(200)
    expect(answer).toMatchObject({
      id: 'resp_scripted',
      object: 'response',
      model: 'scripted',
      status: 'completed',
      output: [
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'An answer', annotations: [] }] },
      ],
      usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
      cost: { usd: Number(tokens) / 1e6, diem: 0 },
    })
    expect(await fixture.ledger(customer.account)).toMatchObject({
      charged: tokens,
      skus: ['chat.input', 'chat.output'],
    })
  })

  test('a search is an item of it, and costs what it costs', async () => {
    const customer = await fixture.customer(1)
    const response = await post(customer, { input: 'caps of the wallet', web_search: true })
    const answer = ResponsesAnswer.parse(await response.json())
    expect(answer.output.map(({ type }) => type)).toEqual(['web_search_call', 'message'])
    expect((await fixture.ledger(customer.account)).skus).toEqual(['chat.input', 'chat.output', 'web.search'])
  })

  test('marks of citations are annotations of its text', async () => {
    fixture.engine.play([{ text: 'Caps hold.[REF]0[/REF] So it is.[REF]99[/REF]' }, { usage: used(1, 1) }])
    const parameters = { enable_web_search: 'on', enable_web_citations: true }
    const response = await post(await fixture.customer(1), {
      input: 'caps of the wallet',
      service_parameters: parameters,
    })
    const { output } = ResponsesAnswer.parse(await response.json())
    expect(output[1]).toMatchObject({
      content: [
        {
          annotations: [
            { type: 'url_citation', url: 'https://farebox.example/docs/wallet', start_index: 10, end_index: 22 },
          ],
        },
      ],
    })
  })

  test('the same key brings the same bytes, once charged', async () => {
    for (const stream of [false, true]) {
      const customer = await fixture.customer(1)
      const send = async () => (await post(customer, { stream }, { 'idempotency-key': `k${stream}` })).text()
      const first = await send()
      expect(await send()).toBe(first)
      expect((await fixture.ledger(customer.account)).charged).toBe(tokens)
    }
  })
})

describe('§5.6 a stream', () => {
  const at = { output_index: 0, content_index: 0 }

  test('tells the answer piece by piece, and all of it at the end', async () => {
    const customer = await fixture.customer(1)
    const data = await events({}, customer)
    expect(data.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(data[4]).toMatchObject({ ...at, delta: 'An' })
    expect(last(data)).toMatchObject({
      status: 'completed',
      output: [{ type: 'message', status: 'completed', content: [{ text: 'An answer' }] }],
      usage: { total_tokens: 110 },
      cost: { usd: Number(tokens) / 1e6 },
    })
    expect((await fixture.ledger(customer.account)).charged).toBe(tokens)
  })

  test('reasoning, text and calls are items, whose pieces may come in turns', async () => {
    const call = (index: number, rest: object) => ({ delta: { tool_calls: [{ index, ...rest }] } })
    fixture.engine.play([
      { delta: { reasoning_content: 'Hm' } },
      { delta: { reasoning_content: ', yes' } },
      { text: 'Look' },
      call(0, { id: 'c0', type: 'function', function: { name: 'one', arguments: '{"a"' } }),
      call(1, { id: 'c1', type: 'function', function: { name: 'two', arguments: '{}' } }),
      call(0, { function: { arguments: ':1}' } }),
      { usage: used(100, 10) },
    ])
    const data = await events({})
    expect(last(data).output).toMatchObject([
      { type: 'reasoning', summary: ['Hm, yes'] },
      { type: 'message', content: [{ text: 'Look' }] },
      { type: 'function_call', call_id: 'c0', name: 'one', arguments: '{"a":1}' },
      { type: 'function_call', call_id: 'c1', name: 'two', arguments: '{}' },
    ])
    const closed = data.filter(({ type }) => type === 'response.output_item.done').map(each => each.item)
    expect(closed).toEqual(last(data).output)
    expect(
      data.filter(({ type }) => type === 'response.function_call_arguments.delta').map(({ delta }) => delta),
    ).toEqual(['{"a"', '{}', ':1}'])
  })

  test('a search comes before the answer', async () => {
    const data = await events({ input: 'caps of the wallet', tools: [], web_search: true })
    expect(data.find(({ type }) => type === 'response.output_item.added')?.item).toMatchObject({
      type: 'web_search_call',
    })
    expect(last(data).output.map(({ type }) => type)).toEqual(['web_search_call', 'message'])
  })

  test('an engine that fails within it ends it as failed; one that fails before it is a status', async () => {
    fixture.engine.play([...words('An'), { fail: inferenceFailed() }])
    const data = await events({})
    expect(data.at(-1)?.type).toBe('response.failed')
    expect(last(data)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: 'Inference processing failed' },
      output: [{ content: [{ text: 'An' }] }],
    })
    fixture.engine.play([{ fail: inferenceFailed() }])
    expect((await post(await fixture.customer(1), { stream: true })).status).toBe(500)
  })
})

describe('§5.6 what is asked', () => {
  const parts = [
    { type: 'input_text', text: 'see' },
    { type: 'text', text: 'this' },
  ]
  const call = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }
  const schema = { name: 'fare', schema: { type: 'object' }, strict: true }

  test.each<[rule: string, body: object, chat: object]>([
    ['a text', { input: 'hello' }, { messages: [{ role: 'user', content: 'hello' }] }],
    [
      'instructions come first',
      { instructions: 'Be brief.' },
      {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'hello' },
        ],
      },
    ],
    [
      'messages, with and without their type, of every role',
      {
        input: [
          { role: 'developer', content: 'D' },
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A' }] },
          { role: 'user', content: parts },
        ],
      },
      {
        messages: [
          { role: 'developer', content: 'D' },
          { role: 'assistant', content: 'A' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'see' },
              { type: 'text', text: 'this' },
            ],
          },
        ],
      },
    ],
    [
      'calls of one turn are one message, and what they gave follows',
      {
        input: [
          { role: 'assistant', content: 'I look.' },
          { type: 'reasoning', id: 'r', summary: ['hm'] },
          call,
          { ...call, call_id: 'c2' },
          { type: 'function_call_output', call_id: 'c1', output: 'seen' },
          { type: 'function_call_output', call_id: 'c2', output: parts },
        ],
      },
      {
        messages: [
          {
            role: 'assistant',
            content: 'I look.',
            tool_calls: ['c1', 'c2'].map(id => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
          },
          { role: 'tool', tool_call_id: 'c1', content: 'seen' },
          { role: 'tool', tool_call_id: 'c2', content: 'seethis' },
        ],
      },
    ],
    ['the limit', { max_output_tokens: 7 }, { max_completion_tokens: 7 }],
    ['sampling', { temperature: 0.5, top_p: 0.25 }, { temperature: 0.5, top_p: 0.25 }],
    [
      'reasoning',
      { reasoning: { effort: 'low', summary: 'auto' } },
      { reasoning_effort: 'low', reasoning: { effort: 'low', summary: 'auto' } },
    ],
    [
      'a function, nested as published',
      {
        tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
        tool_choice: { type: 'function', function: { name: 'f' } },
      },
      {
        tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
        tool_choice: { type: 'function', function: { name: 'f' } },
      },
    ],
    [
      'a function, flat as clients send it',
      {
        tools: [{ type: 'function', name: 'f', parameters: {}, strict: true }],
        tool_choice: { type: 'function', name: 'f' },
      },
      {
        tools: [{ type: 'function', function: { name: 'f', parameters: {}, strict: true } }],
        tool_choice: { type: 'function', function: { name: 'f' } },
      },
    ],
    [
      'a schema of the text',
      { text: { format: { type: 'json_schema', ...schema }, verbosity: 'low' } },
      { response_format: { type: 'json_schema', json_schema: schema }, text: { verbosity: 'low' } },
    ],
    ['what a chat has beside is handed on', { seed: 7, top_k: 3 }, { seed: 7, top_k: 3 }],
  ])('%s', async (_rule, body, chat) => {
    expect((await post(await fixture.customer(1), body)).status).toBe(200)
    expect(asked()).toMatchObject(chat)
  })

  test('options in a suffix of the model’s name', async () => {
    const customer = await fixture.customer(1)
    await post(customer, { model: 'scripted:enable_web_search=on', input: 'caps of the wallet' })
    expect((await fixture.ledger(customer.account)).skus).toContain('web.search')
  })

  test.each<[rule: string, body: object, status: number, says: string]>([
    ['no input', { input: undefined }, 400, 'input'],
    ['an item of another type', { input: [{ type: 'computer_call' }] }, 400, 'input'],
    ['an unknown role', { input: [{ role: 'robot', content: 'x' }] }, 400, 'role'],
    ['a limit of nothing', { max_output_tokens: 0 }, 400, 'max_output_tokens'],
    ['a temperature beyond 2', { temperature: 2.1 }, 400, 'temperature'],
    ['an unknown effort', { reasoning: { effort: 'huge' } }, 400, 'effort'],
    ['an item that would have been kept', { input: [{ type: 'item_reference', id: 'x' }] }, 400, 'stores no items'],
    ['an answer that would have been kept', { previous_response_id: 'resp_1' }, 400, 'stores nothing'],
    ['work that would go on', { background: true }, 400, 'background'],
    [
      'a tool that runs elsewhere',
      { tools: [{ type: 'code_interpreter' }] },
      400,
      'allowed values: function, web_search',
    ],
    ['a search of posts', { tools: [{ type: 'x_search' }] }, 400, 'x_search'],
    ['a function without a name', { tools: [{ type: 'function' }] }, 400, 'name'],
    ['an unknown model', { model: 'nobody' }, 404, 'Specified model not found'],
  ])('%s is refused for nothing', async (_rule, body, status, says) => {
    const customer = await fixture.customer(1)
    const response = await post(customer, body)
    expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(says)])
    expect((await fixture.ledger(customer.account)).charged).toBe(0n)
  })

  test('without credit, and without a credential', async () => {
    expect((await post(await fixture.customer(0), {})).status).toBe(402)
    expect((await fixture.service.post('/responses', { model: 'scripted', input: 'x' })).status).toBe(402)
  })
})

describe('the stock client of OpenAI', () => {
  const client = async () =>
    new OpenAI({
      apiKey: (await fixture.customer(1)).key,
      baseURL: 'http://127.0.0.1/api/v1',
      maxRetries: 0,
      fetch: (input, init) => fixture.service.request(new URL(String(input)).pathname, init as RequestInit),
    })

  test('reads an answer', async () => {
    const response = await (await client()).responses.create({ model: 'scripted', input: 'hello' })
    expect([response.output_text, response.usage?.total_tokens]).toEqual(['An answer', 110])
  })

  test('reads a stream, and puts it together again', async () => {
    const openai = await client()
    const texts: string[] = []
    for await (const event of await openai.responses.create({ model: 'scripted', input: 'hello', stream: true })) {
      if (event.type === 'response.output_text.delta') texts.push(event.delta)
    }
    expect(texts).toEqual(['An', ' answer'])
    const whole = await openai.responses.stream({ model: 'scripted', input: 'hello' }).finalResponse()
    expect(whole.output_text).toBe('An answer')
  })
})
