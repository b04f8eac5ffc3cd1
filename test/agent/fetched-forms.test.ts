import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '#agent/create-agent.ts'
import { openProxy } from '#agent/proxy/create-proxy.ts'
import { formLimits } from '#contract/limits.ts'
import { systemClock } from '#contract/time.ts'
import { type LocalAgent, localAgent } from './local-agent.ts'

/** Forms and batches of programs, before the real service: priced as what they say, and sent as what was priced. */
let local: LocalAgent
let service: LocalAgent['service']
let agent: Agent
let proxy: Awaited<ReturnType<typeof openProxy>>
const token = 'a-token-of-these-tests'

beforeAll(async () => {
  local = await localAgent({ policy: { maxCallUsd: '1' } })
  ;({ service, agent } = local)
  proxy = await openProxy({ port: 0, fetch: agent.fetch, baseUrl: service.baseUrl, token, clock: systemClock })
}, 60_000)

afterAll(async () => {
  await proxy?.close()
  await local?.close()
}, 60_000)

const clients: [string, () => OpenAI][] = [
  ['agent.fetch', () => new OpenAI({ baseURL: service.baseUrl, apiKey: 'x', fetch: agent.fetch, maxRetries: 0 })],
  ['farebox proxy', () => new OpenAI({ baseURL: proxy.url, apiKey: token, maxRetries: 0 })],
]

describe.each(clients)('the stock client of OpenAI by %s', (_way, client) => {
  test('sends a recording and has its transcript', async () => {
    const openai = client()
    const speech = await openai.audio.speech.create({
      ...{ model: 'demo-speech', voice: 'demo-high', input: 'Good morning', response_format: 'wav' },
    })
    const file = await toFile(Buffer.from(await speech.arrayBuffer()), 'mor;"ning.wav')
    const { text } = await openai.audio.transcriptions.create({ model: 'demo-asr', file })
    expect(text).toContain('does not recognize speech. It received wav audio of 0.9 seconds.')
  }, 60_000)

  test('sends an image and has it changed', async () => {
    const openai = client()
    const form = new FormData()
    for (const [name, value] of [
      ['model', 'demo-edit'],
      ['prompt', 'A red sky'],
    ] as const)
      form.append(name, value)
    form.append('image', await image(openai))
    const answer = await openai.post('/image/edit', { body: form, __binaryResponse: true })
    const bytes = Buffer.from(await (answer as Response).arrayBuffer())
    expect(bytes.subarray(1, 4).toString()).toBe('PNG')
  }, 60_000)
})

async function image(openai: OpenAI): Promise<File> {
  const { data } = await openai.images.generate({ model: 'demo-image', prompt: 'The sea', response_format: 'b64_json' })
  return toFile(Buffer.from(data?.[0]?.b64_json ?? '', 'base64'), 'sea.png', { type: 'image/png' })
}

const call = { jsonrpc: '2.0', method: 'eth_chainId', params: [] }

test.each([
  ['one call of a node', { ...call, id: 1 }],
  [
    'a batch of calls',
    [
      { ...call, id: 1 },
      { ...call, id: 2 },
    ],
  ],
])('%s goes to its network', async (_what, body) => {
  const response = await agent.fetch(`${service.baseUrl}/crypto/rpc/local-evm`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  expect([response.status, [await response.json()].flat()]).toMatchObject([
    200,
    [body].flat().map(({ id }) => ({ id, result: expect.stringMatching(/^0x/) })),
  ])
})

const part = (disposition: string, content = 'a') =>
  `--b\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`
const model = part('name="model"', 'demo-asr')
const file = part('name="file"; filename="a.wav"')
const inner = `--c\r\ncontent-disposition: attachment; filename="a.wav"\r\n\r\na\r\n--c--`

test.each([
  ['two models', model + model + file],
  ['a model, and a list of one', model + part('name="model[]"', 'demo-asr') + file],
  ['two files in the place of one', model + file + file],
  ['a field in the place of the file', model + part('name="file"')],
  ['a file in the place of the model', part('name="model"; filename="a"', 'demo-asr') + file],
  ['a name that ends in a backslash', `${model}${part('name="model\\\\"', 'demo-asr')}${file}`],
  ['a name with a quote in it', `${model}${part('name="x\\"; name=\\"model"', 'demo-asr')}${file}`],
  ['a name of a prototype', model + file + part('name="__proto__"')],
  [
    'a form within a form',
    `${model}--b\r\ncontent-disposition: form-data; name="file"\r\ncontent-type: multipart/mixed; boundary=c\r\n\r\n${inner}\r\n`,
  ],
  ['more parts than a service reads', model + file + part('name="x"').repeat(formLimits.parts)],
  ['ten thousand parts', model + file + part('name="x"').repeat(10_000)],
])('a form with %s is not sent', async (_what, parts) => {
  expect(await refusal(`${parts}--b--\r\n`)).toEqual([403, 'not-allowed', expect.stringMatching(/Send a form with/)])
})

test.each([
  ['no end', `${model}${file}`, 'multipart/form-data; boundary=b'],
  ['another boundary', `${model}${file}--b--\r\n`, 'multipart/form-data; boundary=c'],
  ['not a boundary', `${model}${file}--b--\r\n`, 'multipart/form-data'],
  ['two content types', `${model}${file}--b--\r\n`, 'multipart/form-data; boundary=b, application/json'],
])('a form with %s is not sent', async (_what, body, type) => {
  expect(await refusal(body, type)).toEqual([403, 'not-allowed', expect.stringContaining('cannot be known')])
})

test('a form is not sent to what takes JSON alone, nor a list to what takes one object', async () => {
  const form = `${part('name="model"', 'demo-chat')}--b--\r\n`
  expect(await refusal(form, undefined, '/chat/completions')).toEqual([
    403,
    'not-allowed',
    expect.stringContaining('cannot be known'),
  ])
  const list = JSON.stringify([{ model: 'demo-chat', messages: [{ role: 'user', content: 'x' }] }])
  expect(await refusal(list, 'application/json', '/chat/completions')).toEqual([
    403,
    'not-allowed',
    expect.stringContaining('cannot be known'),
  ])
})

test('an unknown member makes the price unknown, in a form as in JSON', async () => {
  expect(await refusal(`${model}${part('name="layers"', '4')}${file}--b--\r\n`)).toEqual([
    403,
    'approval',
    expect.stringContaining('at an unknown price'),
  ])
})

async function refusal(body: string, type = 'multipart/form-data; boundary=b', path = '/audio/transcriptions') {
  const response = await agent.fetch(`${service.baseUrl}${path}`, {
    ...{ method: 'POST', body, headers: { 'content-type': type } },
  })
  const { error } = (await response.json()) as { error: { code: string; message: string } }
  return [response.status, error.code, error.message]
}
